#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/attention_shape.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// NumPy's functions on one row of an array. Each overwrites its operand. A row stays in the cache
/// until its expression is computed; over a whole array, each operation would wait for memory.
template <class T>
struct Row {
    T* numbers;
    std::size_t length;
    const RowOperations<T>& operations;

    /// A row minus its largest number; exp() of it is a single operation.
    struct BelowZero {
        Row row;
        T largest;
    };
    /// The sum of a row, to divide a row by. Long rows multiply by the reciprocal.
    struct Sum {
        T number;
        operator T() const { return number; }  // NOLINT: it is a number
    };

    friend Row operator*(Row row, T factor) {
        row.operations.multiply(row.numbers, factor, row.numbers, row.length);
        return row;
    }
    friend Row operator*(T factor, Row row) { return row * factor; }
    friend Row operator/(Row row, T divisor) {
        row.operations.divide(row.numbers, divisor, row.numbers, row.length);
        return row;
    }
    friend Row operator/(Row row, Sum sum) {
        row.operations.normalize(row.numbers, sum.number, row.numbers, row.length);
        return row;
    }
    friend BelowZero operator-(Row row, T largest) { return {row, largest}; }
    friend Row exp(BelowZero less) {
        const Row row = less.row;
        row.operations.exponentials(row.numbers, less.largest, row.numbers, row.length);
        return row;
    }
    friend Row tanh(Row row) {
        row.operations.tanh(row.numbers, row.numbers, row.length);
        return row;
    }
    /// Replaces the cells that `hidden` marks by `number`, or the whole row.
    friend Row where(const bool* hidden, T number, Row row) {
        row.operations.where(hidden, number, row.numbers, row.numbers, row.length);
        return row;
    }
    friend Row where(bool hidden, T number, Row row) {
        if (hidden) std::fill_n(row.numbers, row.length, number);
        return row;
    }
    /// Returns the largest number of the row and `initial`; nan if one is nan.
    friend T amax(Row row, T initial = minus_infinity<T>) {
        const T largest = row.operations.maximum(row.numbers, row.length);
        return initial > largest || std::isnan(initial) ? initial : largest;
    }
    friend Sum sum(Row row, T initial = 0) {
        return {row.operations.sum(row.numbers, row.length) + initial};
    }
};

/// Replaces each row along the last axis by the result of `change(row, r)`, with r as the number of
/// the row in the whole array.
template <class T, class Change>
Array<T> by_row(Array<T> array, const Change& change) {
    const MatrixView<T> rows = rows_of(array);
    const RowOperations<T>& operations = row_operations<T>(rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        change(Row<T>{rows.row(0, r), rows.columns, operations}, r);
    }
    return array;
}

}  // namespace attn
