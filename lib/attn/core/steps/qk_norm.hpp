#pragma once
#include "attn/ground/tensor/array.hpp"

namespace attn {

/// The features over which query and key are normalised: each head's, those of all heads together,
/// or each head's to length 1.
enum class NormOver { head, all, l2 };

/// Normalises each row of query or key, so that scores do not grow with the length of a row.
///
///     head   normed(t,f) = x(t,f) / sqrt(mean over f of x(t,f)^2 + eps) * gain(f)
///     all    the same, with the mean over the features of all heads, which have a gain each
///     l2     normed(t,f) = x(t,f) / max(sqrt(sum over f of x(t,f)^2), eps)
///
/// Shapes  x (..., heads, tokens, features), without the heads axis for one head; gain (features),
///         for all heads side by side (heads * features), none for l2; result as x.
/// Range   rows of length sqrt(features), or 1, if the effects of eps and gain are small.
/// Why     dot products of long rows make softmax one-hot, and training unstable. Does not use the
///         rule of its step: models multiply by the inverse square root, which rounds differently.
/// Source  Zhang and Sennrich 2019 (RMSNorm), Dehghani et al. 2023 (of query and key).
template <class T>
Array<T> normalise(const Array<T>& x, const Array<T>& gain, NormOver over, double eps,
                   std::size_t heads);

}  // namespace attn
