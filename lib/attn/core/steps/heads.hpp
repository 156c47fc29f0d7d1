#pragma once
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Splits each token's features into heads and moves the head axis before the tokens, so that each
/// head has a matrix of its own.
///
///     result(b,h,t,f) = projected(b, t, h * head_dim + f)
///
/// Shapes  projected (batch, tokens, heads * head_dim) or (tokens, heads * head_dim);
///         result (batch, heads, tokens, head_dim) or (heads, tokens, head_dim).
/// Why     a head is head_dim adjacent features; reshaping without moving the axis would mix
/// tokens.
/// Errors  ShapeError if the features are not divisible by the heads.
namespace loop {
template <class T>
Array<T> split_heads(const Array<T>& projected, std::size_t heads);
}
namespace vectorized {
template <class T>
Array<T> split_heads(const Array<T>& projected, std::size_t heads);
}

/// Joins the heads of each token side by side: the inverse of split_heads.
///
///     result(b, t, h * value_dim + f) = context(b,h,t,f)
///
/// Shapes  context (batch, heads, tokens, value_dim) or (heads, tokens, value_dim);
///         result (batch, tokens, heads * value_dim) or (tokens, heads * value_dim).
/// Errors  ShapeError if there is no head axis.
namespace loop {
template <class T>
Array<T> merge_heads(const Array<T>& context);
}
namespace vectorized {
template <class T>
Array<T> merge_heads(const Array<T>& context);
}

/// Gives each query head its own keys (or values): every head is copied `times` times, with the
/// copies side by side.
///
///     result(b,h,t,f) = tensor(b, h / times, t, f)
///
/// Shapes  tensor (batch, kv_heads, tokens, features) or (kv_heads, tokens, features); result the
///         same with kv_heads * times heads.
/// Why     grouped-query attention has fewer keys and values than queries. Nothing is computed
///         here: kernels read the shared head in place.
/// Errors  ShapeError if there is no head axis.
/// Source  Ainslie et al. 2023, GQA; torch.repeat_interleave.
///
/// Computed by a loop, not from the rule of its step; see rotate.hpp.
template <class T>
Array<T> repeat_heads(const Array<T>& tensor, std::size_t times);

/// Copies the features `columns` of the last axis, in that order.
///
/// Shapes  tensor (..., features); result (..., columns.size()).
template <class T>
Array<T> take_features(const Array<T>& tensor, const std::vector<std::size_t>& columns);

}  // namespace attn
