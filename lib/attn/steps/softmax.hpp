#pragma once
#include <cmath>
#include <span>

#include "attn/tensor/attention_shape.hpp"
#include "attn/tensor/matrix_view.hpp"

namespace attn {

/// exp() as the loop twins use it: computed in double and rounded once, the same on every machine.
template <class T>
T exact_exp(T x) {
    return static_cast<T>(std::exp(static_cast<double>(x)));
}

// Softmax in four parts. Each works on rows whose cells are neighbours: the rows of a block, or
// all rows of a tensor along one of its axes. A result may stand in the place of what was read.

/// The largest score of each row.
///
/// Shapes  scores (..., query_len, key_len); row_max one number a row.
/// Range   -inf for a fully masked row; nan where a score is nan.
namespace loop {
template <class T>
void row_max(MatrixView<const T> scores, MatrixView<T> row_max);
}
namespace vectorized {
template <class T>
void row_max(MatrixView<const T> scores, MatrixView<T> row_max);
}

/// The exponential of each score less the largest one of its row.
///
///     exponentials(q,k) = exp(scores(q,k) - row_max(q))
///
/// Range   from 0, hidden, to 1, the largest of its row; nan in a fully masked row.
/// Why     subtracting the maximum changes nothing algebraically and keeps exp() from overflowing.
namespace loop {
template <class T>
void exponentials(MatrixView<const T> scores, MatrixView<const T> row_max, MatrixView<T> result);
}
namespace vectorized {
template <class T>
void exponentials(MatrixView<const T> scores, MatrixView<const T> row_max, MatrixView<T> result);
}

/// The sum of the exponentials of each row.
///
/// Range   from 1 to the length of the row; nan in a fully masked row.
namespace loop {
template <class T>
void row_sum(MatrixView<const T> exponentials, MatrixView<T> row_sum);
}
namespace vectorized {
template <class T>
void row_sum(MatrixView<const T> exponentials, MatrixView<T> row_sum);
}

/// The attention weights: each exponential divided by the sum of its row.
///
///     weights(q,k) = exponentials(q,k) / row_sum(q)
///
/// Range   every row sums to 1 (to rounding); hidden cells are exactly 0; a fully masked row, whose
///         row_max is -inf, is nan, as in PyTorch, or 0 with EmptyRow::zero.
namespace loop {
template <class T>
void weights(MatrixView<const T> exponentials, MatrixView<const T> row_max,
             MatrixView<const T> row_sum, EmptyRow empty_row, MatrixView<T> weights);
}
namespace vectorized {
template <class T>
void weights(MatrixView<const T> exponentials, MatrixView<const T> row_max,
             MatrixView<const T> row_sum, EmptyRow empty_row, MatrixView<T> weights);
}

/// Refuses the first fully masked row of `count`, if there is one.
///
/// Errors  ConfigError naming it; rows are counted from `first`.
template <class T>
void refuse_empty_rows(const T* row_max, std::size_t count, std::size_t first = 0);

// The same for whole arrays, along any axis, which the results of one number a row lack.
namespace loop {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
template <class T>
Array<T> exponentials(const Array<T>& scores, const Array<T>& row_max, std::size_t axis);
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> row_max(const Array<T>& scores, std::size_t axis);
template <class T>
Array<T> exponentials(const Array<T>& scores, const Array<T>& row_max, std::size_t axis);
template <class T>
Array<T> row_sum(const Array<T>& exponentials, std::size_t axis);
}  // namespace vectorized

/// Turns scores into attention weights: one softmax per row along `axis`, over the cells it may
/// see.
///
///     m = max over keys of s(q,k);   w(q,k) = exp(s(q,k) - m) / sum over j of exp(s(q,j) - m)
///
/// With a sink (attn/steps/sink.hpp), one number for each head, its exponential joins the sum.
///
/// Shapes  masked_scores (..., query_len, key_len); result the same. With a sink, axis is the last.
/// Errors  ConfigError for a fully masked row with EmptyRow::error.
/// Source  Vaswani et al. 2017, eq. (1).
namespace loop {
template <class T>
Array<T> softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan,
                 std::span<const T> sink = {});
}
namespace vectorized {
template <class T>
Array<T> softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row = EmptyRow::nan,
                 std::span<const T> sink = {});
}

}  // namespace attn
