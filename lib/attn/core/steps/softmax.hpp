#pragma once
#include <cmath>
#include <span>

#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/attention_shape.hpp"

namespace attn {

/// exp() for the loop variant: computed in double and rounded once, the same on all machines.
template <class T>
T exact_exp(T x) {
    return static_cast<T>(std::exp(static_cast<double>(x)));
}

// Softmax in parts, along any axis of a tensor: the cells along it are a row. Tensors with one
// number per row lack that axis.

/// Returns the largest score of each row.
///
/// Range   -inf for a fully masked row; nan if a score is nan.
namespace loop {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
}

/// Returns the exponential of each score minus the largest one of its row.
///
///     exponentials(q,k) = exp(scores(q,k) - row_max(q))
///
/// Range   from 0, hidden, to 1, the largest of its row; nan in a fully masked row.
/// Why     subtracting the maximum changes nothing algebraically and keeps exp() from overflowing.
/// Errors  ShapeError if row_max does not have one number per row.
namespace loop {
template <class T>
Array<T> exponentials(Array<T> scores, const Array<T>& row_max, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> exponentials(Array<T> scores, const Array<T>& row_max, std::size_t axis);
}

/// Returns the sum of the exponentials of each row.
///
/// Range   from 1 to the length of the row; nan in a fully masked row.
namespace loop {
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}
namespace vectorized {
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}

/// Computes attention weights from scores: one softmax per row along `axis`, over the visible
/// cells.
///
///     m = max over keys of s(q,k);   w(q,k) = exp(s(q,k) - m) / sum over j of exp(s(q,j) - m)
///
/// With a sink (attn/core/steps/sink.hpp), one number per head, its exponential joins the sum.
///
/// Shapes  masked_scores (..., query_len, key_len); result the same. With a sink, axis is the last.
/// Range   every row sums to 1 (to rounding); hidden cells are exactly 0; a fully masked row, whose
///         row_max is -inf, is nan, as in PyTorch, or 0 with EmptyRow::zero.
/// Errors  ConfigError for a fully masked row with EmptyRow::error.
/// Source  Vaswani et al. 2017, eq. (1).
namespace loop {
template <class T>
Array<T> softmax(Array<T> scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan,
                 std::span<const T> sink = {});
}
namespace vectorized {
template <class T>
Array<T> softmax(Array<T> scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan,
                 std::span<const T> sink = {});
}

}  // namespace attn
