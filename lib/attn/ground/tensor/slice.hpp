#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The part of one axis in a slice: the indices first, first + step, ...
struct AxisPart {
    std::ptrdiff_t first = 0;
    std::ptrdiff_t step = 1;
    std::size_t count = 0;
    bool drops_axis = false;
};

/// Returns the part of each axis that `indices` select; `axes` and `shape` are the tensor's.
/// Errors  as slice.
std::vector<AxisPart> slice_parts(const Axes& axes, const Shape& shape, std::string_view indices);
std::vector<AxisPart> slice_parts(const Tensor& tensor, std::string_view indices);

/// Returns `inner`, a slice of the part `outer`, as a slice of the whole tensor: one part per axis.
std::vector<AxisPart> nested(const std::vector<AxisPart>& outer,
                             const std::vector<AxisPart>& inner);

/// Returns a part of a tensor, in Python's index notation: `0,:,1:3`, `-1`, `...,0`, `::2`.
///
/// A number selects one index and drops its axis; `start:stop:step` keeps the axis; `...` stands
/// for as many full axes as needed; missing axes at the end are whole.
/// Errors  ConfigError for an invalid index, ShapeError for one out of range.
Tensor slice(const Tensor& tensor, std::string_view indices);

/// Returns the part that these select, one per axis and in range.
Tensor slice(const Tensor& tensor, const std::vector<AxisPart>& parts);

/// Returns the parts that select a whole tensor of that shape.
std::vector<AxisPart> whole_parts(const Shape& shape);

/// Returns rows first, first + 1, ... of one axis, with the others whole.  Errors  ShapeError if
/// out of range.
Tensor slice_of_axis(const Tensor& tensor, std::size_t axis, std::size_t first, std::size_t count);

/// Rearranges the numbers of a tensor: the element at (i, j, ...) is element number offset + i *
/// strides[0] + j * strides[1] + ..., modulo 2^64, so that strides may be negative.
///
/// Shapes  result: `shape`, with axes `axis0`, `axis1`, ...
Tensor strided(const Tensor& tensor, const Shape& shape, const Shape& strides,
               std::size_t offset = 0);

/// Returns the strides of a contiguous tensor of that shape.
Shape row_strides(const Shape& shape);

/// Returns those rows of the first axis of a floating-point tensor.
Tensor rows_of(const Tensor& tensor, const std::vector<std::size_t>& rows);

/// Returns `axis0`, `axis1`, ..., the names of unnamed axes.
Axes numbered_axes(std::size_t count);

/// Returns the indices of element number `flat`.
std::vector<std::size_t> indices_of(std::size_t flat, const Shape& shape);
/// Formats `[0,2,1]`.
std::string index_text(const std::vector<std::size_t>& indices);

}  // namespace attn
