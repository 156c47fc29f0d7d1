#pragma once
#include "attn/simd/kernels.hpp"
#include "attn/simd/parallel.hpp"
#include "attn/tensor/matrix_view.hpp"

namespace attn {

/// What `change(row, operations, from, to)` makes of each row along the last axis; rows are counted
/// over the whole array.
template <class T, class Change>
Array<T> with_each_row(const Array<T>& array, const Change& change) {
    Array<T> result = empty_array<T>(array.shape());
    const MatrixView<const T> from = rows_of(array);
    const MatrixView<T> to = rows_of(result);
    const RowOperations<T>& operations = row_operations<T>(from.columns);
    for_each_row(from.rows, from.columns,
                 [&](std::size_t r) { change(r, operations, from.row(0, r), to.row(0, r)); });
    return result;
}

}  // namespace attn
