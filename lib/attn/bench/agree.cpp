#include "attn/bench/agree.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace attn {
namespace {

/// The length of the longest row.
double longest(const Array<float>& rows) {
    const std::size_t columns = rows.shape(2);
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); i += columns) {
        double squares = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            const double number = rows.data()[i + j];
            squares += number * number;
        }
        most = std::max(most, squares);
    }
    return std::sqrt(most);
}

}  // namespace

Disagreement farthest_apart(const Array<float>& got, const Array<float>& expected) {
    assert(got.size() == expected.size());
    Disagreement farthest;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double a = got.data()[i];
        const double b = expected.data()[i];
        double apart = a == b ? 0 : std::abs(a - b);
        if (std::isnan(apart)) {
            const bool both = std::isnan(a) && std::isnan(b);
            apart = both ? 0 : std::numeric_limits<double>::infinity();
        }
        if (i == 0 || apart > farthest.apart) farthest = {i, a, b, apart};
    }
    return farthest;
}

double agreement_tolerance(const BenchInput& input) {
    const auto head_dim = static_cast<double>(input.query.shape(2));
    const auto length = static_cast<double>(input.query.shape(1));
    const double score = longest(input.query) * longest(input.key) / std::sqrt(head_dim);
    float largest = 0;
    for (const float number : input.value) largest = std::max(largest, std::abs(number));
    return 4.0 * std::numeric_limits<float>::epsilon() * largest *
           (std::sqrt(head_dim) * score + std::sqrt(length) + 4);
}

}  // namespace attn
