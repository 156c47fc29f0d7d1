#pragma once
#include "attn/core/steps/arithmetic.hpp"

namespace attn {

/// The storage of a parameter matrix: `out_in` as in PyTorch's nn.Linear, one row per output
/// feature; `in_out` as in most NumPy code and GPT-2's Conv1D, one row per input feature.
enum class WeightLayout { out_in, in_out };

/// Projects each token's features: each new one is a weighted sum of the old ones.
///
///     result(t,o) = sum over features i of x(t,i) * weight(o,i)  [ + bias(o) ]
///
/// Shapes  x (..., tokens, in); weight (out, in), or (in, out) with in_out; bias (out) or empty;
///         result (..., tokens, out). With a leading head axis on weight, (heads, out, in), every
///         head projects the same x: result (..., heads, tokens, out); bias (heads, out) or empty.
/// Errors  ShapeError if the number of input features differs from the weight's.
namespace loop {
template <class T>
Array<T> project(const Array<T>& x, const Array<T>& weight, const Array<T>& bias,
                 WeightLayout layout, const Arithmetic& arithmetic = {});
}
namespace vectorized {
template <class T>
Array<T> project(const Array<T>& x, const Array<T>& weight, const Array<T>& bias,
                 WeightLayout layout, const Arithmetic& arithmetic = {});
}

}  // namespace attn
