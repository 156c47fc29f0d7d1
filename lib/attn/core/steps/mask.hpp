#pragma once
#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/attention_shape.hpp"

namespace attn {

/// Sets hidden cells to minus infinity: their exponentials, and so their weights, are exactly 0. In
/// every mask here true means hidden.
///
/// Shapes  scores (..., query_len, key_len), mask broadcastable to it; result as scores.
/// Errors  ShapeError if the mask does not broadcast to the scores.
namespace loop {
template <class T>
Array<T> apply_mask(Array<T> scores, const Array<bool>& mask);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> apply_mask(Array<T> scores, const Array<bool>& mask);
}  // namespace vectorized

/// Returns a view of a mask that broadcasts to scores of this shape; its cells must outlive the
/// view.
///
/// Errors  ShapeError if it does not broadcast.
MaskView view_of(const Array<bool>& mask, const Shape& scores);

}  // namespace attn
