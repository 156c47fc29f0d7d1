#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

#include "attn/ground/simd/dot.hpp"
#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// The array after `change(row, operations, numbers)` of each row along the last axis; rows are
/// counted over the whole array.
template <class T, class Change>
Array<T> with_each_row(Array<T> array, const Change& change) {
    const MatrixView<T> rows = rows_of(array);
    const RowOperations<T>& operations = row_operations<T>(rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r) change(r, operations, rows.row(0, r));
    return array;
}

/// The scores after `change(group, query, key, score)` of each.
template <class T, class Change>
Array<T> with_each_cell(Array<T> scores, const Change& change) {
    const MatrixView<T> cells = matrices_of(scores);
    for (std::size_t g = 0; g < cells.groups; ++g) {
        for (std::size_t q = 0; q < cells.rows; ++q) {
            for (std::size_t k = 0; k < cells.columns; ++k) change(g, q, k, cells(g, q, k));
        }
    }
    return scores;
}

}  // namespace attn
