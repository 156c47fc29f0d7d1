#include "attn/steps/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include "attn/steps/groups.hpp"

#include "attn/simd/kernels.hpp"
#include "attn/steps/sink.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/move_axis.hpp"

namespace attn {
template <class T>
void loop::row_max(MatrixView<const T> scores, MatrixView<T> row_max) {
    // Keep the largest score of each row; nan, once met, stays.
    for (std::size_t g = 0; g < scores.groups; ++g) {
        for (std::size_t q = 0; q < scores.rows; ++q) {
            T largest = minus_infinity<T>;
            for (std::size_t k = 0; k < scores.columns; ++k) {
                const T score = scores(g, q, k);
                if (score > largest || std::isnan(score)) largest = score;
            }
            row_max(g, q, 0) = largest;
        }
    }
}

template <class T>
void loop::exponentials(MatrixView<const T> scores, MatrixView<const T> row_max,
                        MatrixView<T> result) {
    // Subtract the largest score of the row from each score and take the exponential.
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            for (std::size_t k = 0; k < result.columns; ++k) {
                result(g, q, k) = exact_exp(scores(g, q, k) - row_max(g, q, 0));
            }
        }
    }
}

template <class T>
void loop::row_sum(MatrixView<const T> exponentials, MatrixView<T> row_sum) {
    // Add up each row from left to right.
    for (std::size_t g = 0; g < exponentials.groups; ++g) {
        for (std::size_t q = 0; q < exponentials.rows; ++q) {
            T sum = 0;
            for (std::size_t k = 0; k < exponentials.columns; ++k) sum += exponentials(g, q, k);
            row_sum(g, q, 0) = sum;
        }
    }
}

template <class T>
void loop::weights(MatrixView<const T> exponentials, MatrixView<const T> row_max,
                   MatrixView<const T> row_sum, EmptyRow empty_row, MatrixView<T> weights) {
    // Divide each exponential by the sum of its row.
    for (std::size_t g = 0; g < weights.groups; ++g) {
        for (std::size_t q = 0; q < weights.rows; ++q) {
            const bool zero = empty_row == EmptyRow::zero && row_max(g, q, 0) == minus_infinity<T>;
            for (std::size_t k = 0; k < weights.columns; ++k) {
                weights(g, q, k) = zero ? 0 : exponentials(g, q, k) / row_sum(g, q, 0);
            }
        }
    }
}

template <class T>
void vectorized::row_max(MatrixView<const T> scores, MatrixView<T> row_max) {
    const RowOperations<T>& rows = row_operations<T>(scores.columns);
    for (std::size_t g = 0; g < scores.groups; ++g) {
        for (std::size_t q = 0; q < scores.rows; ++q) {
            row_max(g, q, 0) = rows.maximum(scores.row(g, q), scores.columns);
        }
    }
}

template <class T>
void vectorized::exponentials(MatrixView<const T> scores, MatrixView<const T> row_max,
                              MatrixView<T> result) {
    const RowOperations<T>& rows = row_operations<T>(result.columns);
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            rows.exponentials(scores.row(g, q), row_max(g, q, 0), result.row(g, q), result.columns);
        }
    }
}

template <class T>
void vectorized::row_sum(MatrixView<const T> exponentials, MatrixView<T> row_sum) {
    const RowOperations<T>& rows = row_operations<T>(exponentials.columns);
    for (std::size_t g = 0; g < exponentials.groups; ++g) {
        for (std::size_t q = 0; q < exponentials.rows; ++q) {
            row_sum(g, q, 0) = rows.sum(exponentials.row(g, q), exponentials.columns);
        }
    }
}

template <class T>
void vectorized::weights(MatrixView<const T> exponentials, MatrixView<const T> row_max,
                         MatrixView<const T> row_sum, EmptyRow empty_row, MatrixView<T> weights) {
    const RowOperations<T>& rows = row_operations<T>(weights.columns);
    for (std::size_t g = 0; g < weights.groups; ++g) {
        for (std::size_t q = 0; q < weights.rows; ++q) {
            if (empty_row == EmptyRow::zero && row_max(g, q, 0) == minus_infinity<T>) {
                std::fill_n(weights.row(g, q), weights.columns, T(0));
            } else {
                rows.normalize(exponentials.row(g, q), row_sum(g, q, 0), weights.row(g, q),
                               weights.columns);
            }
        }
    }
}

template <class T>
void refuse_empty_rows(const T* row_max, std::size_t count, std::size_t first) {
    const T* const found = std::find(row_max, row_max + count, minus_infinity<T>);
    if (found == row_max + count) return;
    throw ConfigError("row " + std::to_string(first + static_cast<std::size_t>(found - row_max)) +
                      " of the scores hides every key, so softmax has nothing to divide 1 among: "
                      "change the mask, or choose nan or zero for empty rows");
}

namespace {

Shape without_axis(Shape shape, std::size_t axis) {
    axis_view(shape, axis);  // refuses an axis that is not there
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return shape;
}

/// The numbers of rows, as the parts of softmax read and write them.
template <class A>
auto one_a_row(A& numbers) {
    return column_of(numbers.data(), 1, numbers.size());
}

/// row_max or row_sum of a whole array.
template <class T>
Array<T> of_rows(void (*part)(MatrixView<const T>, MatrixView<T>), const Array<T>& cells,
                 std::size_t axis) {
    const Array<T> rows = with_axis_last(cells, axis);
    Array<T> result = empty_array<T>(without_axis(cells.shape(), axis));
    part(rows_of(rows), one_a_row(result));
    return result;
}

template <class T>
Array<T> of_cells(void (*exponentials)(MatrixView<const T>, MatrixView<const T>, MatrixView<T>),
                  const Array<T>& scores, const Array<T>& row_max, std::size_t axis) {
    if (row_max.size() != element_count(without_axis(scores.shape(), axis))) {
        throw ShapeError("row_max " + shape_text(row_max.shape()) + " and scores " +
                         shape_text(scores.shape()) + " need one maximum for each row");
    }
    Array<T> rows = with_axis_last(scores, axis);
    exponentials(rows_of(std::as_const(rows)), one_a_row(row_max), rows_of(rows));
    return with_last_axis_at(rows, axis);
}

}  // namespace

#define ATTN_INSTANTIATE(variant, T)                                                              \
    template void variant::row_max(MatrixView<const T>, MatrixView<T>);                           \
    template void variant::exponentials(MatrixView<const T>, MatrixView<const T>, MatrixView<T>); \
    template void variant::row_sum(MatrixView<const T>, MatrixView<T>);                           \
    template void variant::weights(MatrixView<const T>, MatrixView<const T>, MatrixView<const T>, \
                                   EmptyRow, MatrixView<T>);                                      \
    template <>                                                                                   \
    Array<T> variant::row_max(const Array<T>& scores, std::size_t axis) {                         \
        return of_rows<T>(variant::row_max<T>, scores, axis);                                     \
    }                                                                                             \
    template <>                                                                                   \
    Array<T> variant::exponentials(const Array<T>& scores, const Array<T>& row_max,               \
                                   std::size_t axis) {                                            \
        return of_cells<T>(variant::exponentials<T>, scores, row_max, axis);                      \
    }                                                                                             \
    template <>                                                                                   \
    Array<T> variant::row_sum(const Array<T>& exponentials, std::size_t axis) {                   \
        return of_rows<T>(variant::row_sum<T>, exponentials, axis);                               \
    }                                                                                             \
    template <>                                                                                   \
    Array<T> variant::softmax(const Array<T>& scores, std::size_t axis, EmptyRow empty_row,       \
                              std::span<const T> sink) {                                          \
        Array<T> largest = row_max<T>(scores, axis);                                              \
        if (!sink.empty()) raise_to_sink<T>(sink, one_a_query(largest));                          \
        if (empty_row == EmptyRow::error) refuse_empty_rows(largest.data(), largest.size());      \
        const Array<T> exps = exponentials<T>(scores, largest, axis);                             \
        Array<T> sums = row_sum<T>(exps, axis);                                                   \
        if (!sink.empty())                                                                        \
            add_sink<T>(sink, one_a_query(std::as_const(largest)), one_a_query(sums));            \
        Array<T> rows = with_axis_last(exps, axis);                                               \
        weights<T>(rows_of(std::as_const(rows)), one_a_row(std::as_const(largest)),               \
                   one_a_row(std::as_const(sums)), empty_row, rows_of(rows));                     \
        return with_last_axis_at(rows, axis);                                                     \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE
template void refuse_empty_rows(const float*, std::size_t, std::size_t);
template void refuse_empty_rows(const double*, std::size_t, std::size_t);

}  // namespace attn
