#include "attn/core/steps/softmax.hpp"

#include <cmath>
#include <string>

#include "attn/core/steps/sink.hpp"
#include "attn/ground/simd/row.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/xtensor.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse_empty_row(std::size_t row) {
    throw ConfigError("row " + std::to_string(row) +
                      " of the scores hides every key, so softmax has nothing to divide 1 among: "
                      "change the mask, or choose nan or zero for empty rows");
}

/// Allocates one number per row along an axis.
///
/// Errors  ShapeError if there is no such axis.
template <class T>
Array<T> one_a_row(const Array<T>& cells, std::size_t axis) {
    axis_view(cells.shape(), axis);
    Shape shape = cells.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return empty_array<T>(shape);
}

template <class T>
void require_one_a_row(const Array<T>& row_max, const Array<T>& scores, std::size_t axis) {
    if (row_max.size() * axis_view(scores.shape(), axis).length == scores.size()) return;
    throw ShapeError("row_max " + shape_text(row_max.shape()) + " and scores " +
                     shape_text(scores.shape()) + " need one maximum for each row");
}

}  // namespace

template <class T>
Array<T> loop::row_max(const Array<T>& scores, std::size_t axis) {
    Array<T> result = one_a_row(scores, axis);
    const Array<T> rows = with_axis_last(scores, axis);
    const MatrixView<const T> cells = rows_of(rows);

    // Find the largest score of each row; nan stays.
    for (std::size_t q = 0; q < cells.rows; ++q) {
        T largest = minus_infinity<T>;
        for (std::size_t k = 0; k < cells.columns; ++k) {
            const T score = cells(0, q, k);
            if (score > largest || std::isnan(score)) largest = score;
        }
        result.data()[q] = largest;
    }
    return result;
}

template <class T>
Array<T> loop::exponentials(Array<T> scores, const Array<T>& row_max, std::size_t axis) {
    require_one_a_row(row_max, scores, axis);
    Array<T> rows = with_axis_last(std::move(scores), axis);
    const MatrixView<T> cells = rows_of(rows);

    // Subtract the largest score of the row from each score and take the exponential.
    for (std::size_t q = 0; q < cells.rows; ++q) {
        for (std::size_t k = 0; k < cells.columns; ++k) {
            cells(0, q, k) = exact_exp(cells(0, q, k) - row_max.data()[q]);
        }
    }
    return with_last_axis_at(std::move(rows), axis);
}

template <class T>
Array<T> loop::row_sum(const Array<T>& exponentials, std::size_t axis) {
    Array<T> result = one_a_row(exponentials, axis);
    const Array<T> rows = with_axis_last(exponentials, axis);
    const MatrixView<const T> cells = rows_of(rows);

    // Sum each row from left to right.
    for (std::size_t q = 0; q < cells.rows; ++q) {
        T sum = 0;
        for (std::size_t k = 0; k < cells.columns; ++k) sum += cells(0, q, k);
        result.data()[q] = sum;
    }
    return result;
}

template <class T>
Array<T> loop::softmax(Array<T> scores, std::size_t axis, EmptyRow empty_row,
                       std::span<const T> sink) {
    Array<T> largest = row_max(scores, axis);
    if (!sink.empty()) raise_to_sink(sink, one_a_query(largest));
    Array<T> rows = with_axis_last(exponentials(std::move(scores), largest, axis), axis);
    const MatrixView<T> weights = rows_of(rows);
    Array<T> sums = row_sum(rows, rows.dimension() - 1);
    if (!sink.empty()) add_sink(sink, one_a_query(std::as_const(largest)), one_a_query(sums));

    // Divide each exponential by the sum of its row.
    for (std::size_t q = 0; q < weights.rows; ++q) {
        const bool empty = largest.data()[q] == minus_infinity<T>;
        if (empty && empty_row == EmptyRow::error) refuse_empty_row(q);
        const bool zero = empty && empty_row == EmptyRow::zero;
        for (std::size_t k = 0; k < weights.columns; ++k) {
            weights(0, q, k) = zero ? 0 : weights(0, q, k) / sums.data()[q];
        }
    }
    return with_last_axis_at(std::move(rows), axis);
}

namespace {

/// Returns one number per row: `reduce(row)`.
template <class T, class Reduce>
Array<T> reduced(const Array<T>& array, std::size_t axis, const Reduce& reduce) {
    Array<T> result = one_a_row(array, axis);
    by_row(with_axis_last(array, axis),
           [&](Row<T> row, std::size_t r) { result.data()[r] = reduce(row); });
    return result;
}

}  // namespace

template <class T>
Array<T> vectorized::row_max(const Array<T>& scores, std::size_t axis) {
    return reduced(scores, axis, [](Row<T> s) { return amax(s); });
}

template <class T>
Array<T> vectorized::exponentials(Array<T> scores, const Array<T>& row_max, std::size_t axis) {
    require_one_a_row(row_max, scores, axis);
    Array<T> rows = by_row(with_axis_last(std::move(scores), axis),
                           [&](Row<T> s, std::size_t r) { return exp(s - row_max.data()[r]); });
    return with_last_axis_at(std::move(rows), axis);
}

template <class T>
Array<T> vectorized::row_sum(const Array<T>& exponentials, std::size_t axis) {
    return reduced(exponentials, axis, [](Row<T> e) { return sum(e); });
}

template <class T>
Array<T> vectorized::softmax(Array<T> scores, std::size_t axis, EmptyRow empty_row,
                             std::span<const T> sink) {
    Array<T> rows = with_axis_last(std::move(scores), axis);
    const std::size_t queries = rows.dimension() > 1 ? rows.shape(rows.dimension() - 2) : 1;
    rows = by_row(std::move(rows), [&](Row<T> s, std::size_t r) {
        const T logit = sink.empty() ? minus_infinity<T> : sink[r / queries % sink.size()];
        const T largest = amax(s, logit);
        const bool empty = largest == minus_infinity<T>;
        if (empty && empty_row == EmptyRow::error) refuse_empty_row(r);
        if (empty && empty_row == EmptyRow::zero) return where(true, T(0), s);
        const Row<T> e = exp(s - largest);
        return e / sum(e, std::exp(logit - largest));
    });
    return with_last_axis_at(std::move(rows), axis);
}

template Array<float> loop::row_max(const Array<float>&, std::size_t);
template Array<float> loop::exponentials(Array<float>, const Array<float>&, std::size_t);
template Array<float> loop::row_sum(const Array<float>&, std::size_t);
template Array<float> loop::softmax(Array<float>, std::size_t, EmptyRow, std::span<const float>);
template Array<double> loop::row_max(const Array<double>&, std::size_t);
template Array<double> loop::exponentials(Array<double>, const Array<double>&, std::size_t);
template Array<double> loop::row_sum(const Array<double>&, std::size_t);
template Array<double> loop::softmax(Array<double>, std::size_t, EmptyRow, std::span<const double>);
template Array<float> vectorized::row_max(const Array<float>&, std::size_t);
template Array<float> vectorized::exponentials(Array<float>, const Array<float>&, std::size_t);
template Array<float> vectorized::row_sum(const Array<float>&, std::size_t);
template Array<float> vectorized::softmax(Array<float>, std::size_t, EmptyRow,
                                          std::span<const float>);
template Array<double> vectorized::row_max(const Array<double>&, std::size_t);
template Array<double> vectorized::exponentials(Array<double>, const Array<double>&, std::size_t);
template Array<double> vectorized::row_sum(const Array<double>&, std::size_t);
template Array<double> vectorized::softmax(Array<double>, std::size_t, EmptyRow,
                                           std::span<const double>);

}  // namespace attn
