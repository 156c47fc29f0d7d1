#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "attn/judge/trace/trace.hpp"

namespace attn {

/// A sum of products of two tensors, by their shared axes: `scores[h,q,k] = sum f: q[h,q,f] *
/// k[h,k,f]`, in any order of axes.
struct Contraction {
    /// For each axis of an operand, the axis of the result, or -1 or -2 for a summed one.
    std::vector<int> a, b;
    double factor = 1;  ///< of the result

    /// The axes of the result that one operand has, or both.
    std::vector<std::size_t> axes_of_a(bool also_of_b) const;
    std::vector<std::size_t> axes_of_b(bool also_of_a) const;
};

/// Finds how `result` is a sum of products of `a` and `b`; nullopt if it is none. One or two pairs
/// of axes are summed. `bias`, if given, is added along the last axes of the result. A factor other
/// than 1 is accepted only if `may_have_factor` is true.
///
/// Ignores hidden cells of the result, -inf or a number far below all others. Compares several
/// hundred cells, so that a tensor with one wrong cell still matches.
std::optional<Contraction> contraction_of(const Traced& result, const Traced& a, const Traced& b,
                                          const Traced* bias, bool may_have_factor);

/// True if the shapes allow such a sum in which no axis of the result is one of both operands. A
/// sum of one number is only that over the last axis of `a`.
bool axes_fit(const Traced& result, const Traced& a, const Traced& b);

/// True for a hidden score: -inf, or a number below all possible scores.
inline bool is_hidden_score(double number) { return number <= -5000; }

/// Returns the rounding error of one product of a sum in this type.
double unit_of(DType dtype);

}  // namespace attn
