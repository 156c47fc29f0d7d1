#pragma once
#include "attn/tensor/attention_shape.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The largest score of each row; the first of the parts of softmax.
///
/// Shapes  scores (...) with an axis number `axis`; result without that axis.
/// Range   -inf for a row that hides every key; nan where a score is nan.
namespace loop {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
}

/// The exponential of each score's distance from the largest one of its row.
///
///     exponentials(q,k) = exp(scores(q,k) - row_max(q))
///
/// Range   from 0, hidden, to 1, the largest of its row; nan in a row that hides every key.
/// Why     subtracting the maximum changes nothing algebraically and keeps exp() from overflowing.
namespace loop {
template <class T>
Array<T> exponentials(const Array<T>& scores, const Array<T>& row_max, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> exponentials(const Array<T>& scores, const Array<T>& row_max, std::size_t axis);
}

/// What the exponentials of each row add up to.
///
/// Range   from 1 to the length of the row; nan in a row that hides every key.
namespace loop {
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}

/// Turns scores into attention weights: one softmax per row along `axis`, over the cells it may
/// see.
///
///     m = max over keys of s(q,k);   w(q,k) = exp(s(q,k) - m) / sum over j of exp(s(q,j) - m)
///
/// Shapes  masked_scores (..., query_len, key_len); result the same.
/// Range   every row sums to 1 (to rounding); hidden cells are exactly 0; a row that hides every
///         key is nan, as in PyTorch, unless `empty_row` says otherwise.
/// Errors  ConfigError for such a row with EmptyRow::error.
/// Source  Vaswani et al. 2017, eq. (1).
namespace loop {
template <class T>
Array<T> softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan);
}
namespace vectorized {
template <class T>
Array<T> softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan);
}

}  // namespace attn
