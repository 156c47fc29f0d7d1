#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "attn/judge/trace/trace.hpp"

namespace attn {

/// A sum of products of two tensors, by the axes that meet: `scores[h,q,k] = sum f: q[h,q,f] *
/// k[h,k,f]`, whatever the order of axes.
struct Contraction {
    /// For each axis of an operand the axis of the result, or -1, -2 for those that are summed.
    std::vector<int> a, b;
    double factor = 1;  ///< by which the result is multiplied

    /// The axes of the result that one operand has, or both.
    std::vector<std::size_t> axes_of_a(bool also_of_b) const;
    std::vector<std::size_t> axes_of_b(bool also_of_a) const;
};

/// How `result` is a sum of products of `a` and `b`; nullopt if it is none. One or two pairs of
/// axes are summed. `bias`, if given, is added along the last axes of the result. A factor other
/// than 1 is taken only if it may be.
///
/// Hidden cells of the result, -inf or a number far below all others, count for nothing.
/// Looks at several hundred cells, so that a tensor with one wrong cell still counts.
std::optional<Contraction> contraction_of(const Traced& result, const Traced& a, const Traced& b,
                                          const Traced* bias, bool may_have_factor);

/// True for the number of a hidden score: -inf, or less than any score is.
inline bool is_hidden_score(double number) { return number <= -5000; }

/// How far numbers of this type may differ for one product of a sum.
double unit_of(DType dtype);

}  // namespace attn
