#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/attention_shape.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

// NumPy's functions on one row at a time. A row stays in the cache until its expression is done;
// over a whole array, each operation would wait for memory.

namespace attn {

/// A row of an array. Each operation writes its result over its operand.
template <class T>
struct Row {
    T* numbers;
    std::size_t length;
    const RowOperations<std::remove_const_t<T>>& operations;
};

/// Replaces each row along the last axis by the result of `change(row)`, or of `change(row, r)`,
/// where r counts the rows of the whole array.
template <class T, class Change>
Array<T> by_row(Array<T> array, const Change& change) {
    const MatrixView<T> rows = rows_of(array);
    const RowOperations<T>& operations = row_operations<T>(rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const Row<T> row{rows.row(0, r), rows.columns, operations};
        if constexpr (std::is_invocable_v<Change, Row<T>>) {
            change(row);
        } else {
            change(row, r);
        }
    }
    return array;
}

/// Writes `reduce(row)` of each row along the last axis into `result`.
template <class T, class Reduce>
void reduce_rows(const Array<T>& array, Array<T>& result, const Reduce& reduce) {
    const MatrixView<const T> rows = rows_of(array);
    const RowOperations<T>& operations = row_operations<T>(rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        result.data()[r] = reduce(Row<const T>{rows.row(0, r), rows.columns, operations});
    }
}

template <class T>
Row<T> operator*(Row<T> row, T factor) {
    row.operations.multiply(row.numbers, factor, row.numbers, row.length);
    return row;
}
template <class T>
Row<T> operator*(T factor, Row<T> row) {
    return row * factor;
}
template <class T>
Row<T> operator/(Row<T> row, T divisor) {
    row.operations.divide(row.numbers, divisor, row.numbers, row.length);
    return row;
}
template <class T>
Row<T> tanh(Row<T> row) {
    row.operations.tanh(row.numbers, row.numbers, row.length);
    return row;
}

/// `number` if hidden, the row's own number if not; of the whole row or cell by cell.
template <class T>
Row<T> where(const bool* hidden, T number, Row<T> row) {
    row.operations.where(hidden, number, row.numbers, row.numbers, row.length);
    return row;
}
template <class T>
Row<T> where(bool hidden, T number, Row<T> row) {
    if (hidden) std::fill_n(row.numbers, row.length, number);
    return row;
}
template <class T>
Row<T> zeros_like(Row<T> row) {
    return where(true, T(0), row);
}

/// The largest number of the row and `initial`; nan if one is nan.
template <class T>
std::remove_const_t<T> amax(Row<T> row, std::type_identity_t<T> initial = minus_infinity<T>) {
    const T largest = row.operations.maximum(row.numbers, row.length);
    return initial > largest || std::isnan(initial) ? initial : largest;
}

/// A row minus its largest number; exp() of it is one operation.
template <class T>
struct BelowZero {
    Row<T> row;
    T largest;
};
template <class T>
BelowZero<T> operator-(Row<T> row, T largest) {
    return {row, largest};
}
template <class T>
Row<T> exp(BelowZero<T> less) {
    less.row.operations.exponentials(less.row.numbers, less.largest, less.row.numbers,
                                     less.row.length);
    return less.row;
}

/// The sum of a row; a row divided by its sum sums to 1. Long rows multiply by the reciprocal.
template <class T>
struct Sum {
    T number;
    operator T() const { return number; }  // NOLINT: it is a number
};
template <class T>
Sum<std::remove_const_t<T>> sum(Row<T> row, std::type_identity_t<T> initial = 0) {
    return {row.operations.sum(row.numbers, row.length) + initial};
}
template <class T>
Row<T> operator/(Row<T> row, Sum<T> total) {
    row.operations.normalize(row.numbers, total.number, row.numbers, row.length);
    return row;
}

}  // namespace attn
