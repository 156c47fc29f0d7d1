#include <algorithm>
#include <iterator>

#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/proof.hpp"

// Whether a step of two walks is the same function.

namespace attn {
namespace {

/// Compares the cells without their maxima and minima: the first that differs although neither side
/// depends on them, or else the function that prevents a decision.
Proof compared_without_extremes(const ExactWalk& one, const ExactWalk& other,
                                const std::string& step, const Shape& shape) {
    const std::vector<ExactNumber> left = one.cells_without_extremes(step, 1),
                                   right = other.cells_without_extremes(step, 1),
                                   again_left = one.cells_without_extremes(step, 2),
                                   again_right = other.cells_without_extremes(step, 2);
    Proof proof;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] == right[i]) continue;
        const char* const opaque = left[i].opaque != nullptr ? left[i].opaque : right[i].opaque;
        const bool depends = left[i] != again_left[i] || right[i] != again_right[i];
        if (opaque == nullptr && !depends) return {Proof::Verdict::refuted, {}, i, shape};
        if (opaque != nullptr) proof.why = std::string(opaque) + " is not simplified here";
    }
    return proof;
}

/// Returns what a proof is limited to: the inputs that are not random, and the functions that only
/// one side calls, if they are undefined for some numbers.
std::string limits_of(const ExactWalk& one, const ExactWalk& other, const std::string& step) {
    ExactWalk::Conditions left, right;
    std::set<std::string> seen, also_seen, undefined;
    one.add_conditions(step, seen, left);
    other.add_conditions(step, also_seen, right);
    left.inputs.merge(right.inputs);
    ExactWalk::PartialCalls apart;
    std::set_symmetric_difference(left.calls.begin(), left.calls.end(), right.calls.begin(),
                                  right.calls.end(), std::inserter(apart, apart.end()));
    for (const auto& [function, argument] : apart) undefined.insert(function);
    const auto names = [](const std::set<std::string>& all) {
        return joined(std::vector<std::string>(all.begin(), all.end()), " and ");
    };
    std::string limits = left.inputs.empty() ? "" : "with the same " + names(left.inputs);
    if (undefined.empty()) return limits;
    return limits + (limits.empty() ? "" : " and ") + "where " + names(undefined) +
           (undefined.size() == 1 ? " is" : " are") + " defined";
}

}  // namespace

Proof prove_same(ExactWalk& one, ExactWalk& other, const std::string& step) {
    try {
        const std::vector<ExactNumber>&left = one.cells_of(step), &right = other.cells_of(step);
        const Shape shape = one.shape_of(step);
        if (shape != other.shape_of(step)) return {Proof::Verdict::refuted, {}, 0, shape};
        Proof proof{Proof::Verdict::proved};
        for (std::size_t i = 0; i < left.size(); ++i) {
            if (left[i] == right[i]) continue;
            const char* const opaque = left[i].opaque != nullptr ? left[i].opaque : right[i].opaque;
            if (opaque == nullptr) return {Proof::Verdict::refuted, {}, i, shape};
            proof = {Proof::Verdict::undecided, std::string(opaque) + " is not simplified here"};
        }
        if (proof.verdict == Proof::Verdict::proved) {
            proof.why = limits_of(one, other, step);
            other.take(step, left);
        }
        if (proof.verdict == Proof::Verdict::undecided) {
            const Proof without = compared_without_extremes(one, other, step, shape);
            if (without.verdict == Proof::Verdict::refuted || !without.why.empty()) return without;
        }
        return proof;
    } catch (const Undecided& reason) {
        return {Proof::Verdict::undecided, reason.what()};
    }
}

}  // namespace attn
