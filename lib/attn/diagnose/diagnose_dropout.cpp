#include <algorithm>
#include <cmath>

#include "attn/diagnose/diagnose.hpp"

namespace attn {
namespace {

/// What the cells that were kept are multiplied by, on the whole; 0 when none was.
double factor_of_kept(const Tensor& theirs, const Tensor& expected) {
    double kept = 0;
    double before = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        if (theirs.at(i) == 0) continue;
        kept += theirs.at(i);
        before += expected.at(i);
    }
    return kept / before > 0 ? kept / before : 0;
}

}  // namespace

std::optional<Dropout> dropout_in(const Tensor& theirs, const Tensor& expected,
                                  const Tolerance& tolerance) {
    Dropout found;
    found.factor = factor_of_kept(theirs, expected);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        const double should_be = found.factor * expected.at(i);
        if (theirs.at(i) == 0) {
            if (std::abs(expected.at(i)) > tolerance.absolute) ++found.dropped;
            continue;
        }
        const double difference = std::abs(theirs.at(i) - should_be);
        if (!(difference <= tolerance.absolute + tolerance.relative * should_be)) return {};
        found.difference = std::max(found.difference, difference);
        ++kept;
    }
    // Two cells kept at least, or any tensor with a single number would do.
    const bool is_dropout = found.dropped > 0 && kept > 1 && found.factor > 1 + 1e-3;
    return is_dropout ? std::optional(found) : std::nullopt;
}

}  // namespace attn
