#pragma once
#include <cstdint>
#include <vector>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// Where the diagonal of a causal mask starts when there are more keys than queries, or fewer.
/// `start`: query 0 meets key 0, as PyTorch's tril. `end`: the last query meets the last key, as
/// with a cache of earlier keys.
enum class CausalAlign { start, end };

/// Hides every key that comes after the query. In every mask here true means hidden.
///
/// Shapes  result (query_len, key_len).
Array<bool> causal_mask(std::size_t query_len, std::size_t key_len, CausalAlign align);

/// Hides the keys that only fill up a shorter sequence.
///
/// Shapes  is_padding (batch, key_len) or (key_len); result has the same number of elements, shaped
///         to broadcast over scores of `score_axes` axes: (batch, 1, 1, key_len) and shorter forms.
Array<bool> padding_mask(const Array<bool>& is_padding, std::size_t score_axes);

/// Hides what either mask hides.
///
/// Shapes  two masks that broadcast against each other; result the broadcast shape.
Array<bool> either_mask(const Array<bool>& first, const Array<bool>& second);

/// Puts minus infinity where the mask hides a cell: its exponential, and so its weight, is exactly
/// 0.
///
/// Shapes  scores (..., query_len, key_len), mask broadcastable to it; result as scores.
/// Errors  ShapeError when the mask does not broadcast to the scores.
namespace loop {
template <class T>
Array<T> apply_mask(const Array<T>& scores, const Array<bool>& mask);
}
namespace vectorized {
template <class T>
Array<T> apply_mask(const Array<T>& scores, const Array<bool>& mask);
}

}  // namespace attn
