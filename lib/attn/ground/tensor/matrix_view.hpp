#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {

/// Errors  ShapeError with this message if `fits` is false.
inline void require_fit(bool fits, const std::string& message) {
    if (!fits) throw ShapeError(message);
}

/// A tensor as a list of matrices: all leading axes (batch, head) merged into one.
struct Groups {
    std::size_t count;    ///< number of matrices
    std::size_t rows;     ///< length of the last axis but one
    std::size_t columns;  ///< length of the last axis
};

/// Merges the leading axes of `shape`.  Errors  ShapeError for fewer than two axes.
inline Groups groups_of(const Shape& shape) {
    require_fit(shape.size() >= 2,
                "matrices are needed, not " + shape_text(shape) + ": give it two axes");
    Groups groups{1, shape[shape.size() - 2], shape[shape.size() - 1]};
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) groups.count *= shape[i];
    return groups;
}

/// A tensor around one axis: the axes before it and the axes after it merged.
struct AxisView {
    std::size_t outer;
    std::size_t length;
    std::size_t inner;
};

/// Errors  ShapeError if there is no such axis.
inline AxisView axis_view(const Shape& shape, std::size_t axis) {
    require_fit(axis < shape.size(), "there is no axis " + std::to_string(axis) + " in " +
                                         shape_text(shape) + ": count from 0");
    AxisView view{1, shape[axis], 1};
    for (std::size_t i = 0; i < axis; ++i) view.outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) view.inner *= shape[i];
    return view;
}

/// Matrices in plain memory, as steps read and write them: those of a whole tensor, one per batch
/// entry and head. Numbers of a row are adjacent.
template <class T>
struct MatrixView {
    T* numbers = nullptr;
    std::size_t groups = 0;   ///< number of matrices
    std::size_t rows = 0;     ///< of each
    std::size_t columns = 0;  ///< of each
    std::size_t row_stride = 0;
    std::size_t group_stride = 0;

    T* row(std::size_t group, std::size_t r) const {
        return numbers + group * group_stride + r * row_stride;
    }
    T& operator()(std::size_t group, std::size_t r, std::size_t column) const {
        return row(group, r)[column];
    }

    operator MatrixView<const T>() const {  // a writable view may be read
        return {numbers, groups, rows, columns, row_stride, group_stride};
    }
};

/// The type of an array's numbers, const if the array is.
template <class Numbers>
using NumberOf = std::remove_pointer_t<decltype(std::declval<Numbers&>().data())>;

/// Returns the matrices of an array with at least two axes: its leading axes (batch, head) are
/// merged.
template <class Numbers>
MatrixView<NumberOf<Numbers>> matrices_of(Numbers& array) {
    const auto [groups, rows, columns] = groups_of(array.shape());
    return {array.data(), groups, rows, columns, columns, rows * columns};
}

/// Returns the lines along the last axis as the rows of one matrix; a scalar is one row of one
/// number.
template <class Numbers>
MatrixView<NumberOf<Numbers>> rows_of(Numbers& array) {
    const std::size_t columns = array.shape().empty() ? 1 : array.shape().back();
    const std::size_t rows = columns == 0 ? 0 : array.size() / columns;
    return {array.data(), 1, rows, columns, columns, array.size()};
}

/// Returns one number per row of several matrices, as matrices with one column.
template <class T>
MatrixView<T> column_of(T* numbers, std::size_t groups, std::size_t rows) {
    return {numbers, groups, rows, 1, 1, rows};
}

/// Returns an array with one number per query, as matrices with one column.
template <class Numbers>
MatrixView<NumberOf<Numbers>> one_a_query(Numbers& numbers) {
    const std::size_t queries = numbers.shape().back();
    return column_of(numbers.data(), numbers.size() / std::max<std::size_t>(queries, 1), queries);
}

}  // namespace attn
