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

/// The part of each axis that `indices` select; `axes` and `shape` are the tensor's.
/// Errors  as slice.
std::vector<AxisPart> slice_parts(const Axes& axes, const Shape& shape, std::string_view indices);
std::vector<AxisPart> slice_parts(const Tensor& tensor, std::string_view indices);

/// `inner`, a slice of the part `outer`, as a slice of the whole tensor: one part for each axis.
std::vector<AxisPart> nested(const std::vector<AxisPart>& outer,
                             const std::vector<AxisPart>& inner);

/// A part of a tensor, in Python's index notation: `0,:,1:3`, `-1`, `...,0`, `::2`.
///
/// A number takes one index and drops its axis; `start:stop:step` keeps the axis; `...` stands for
/// as many full axes as are needed; missing axes at the end are taken whole.
/// Errors  ConfigError for what is no index, ShapeError for an index beyond its axis.
Tensor slice(const Tensor& tensor, std::string_view indices);

/// The part that these take, one for each axis and none beyond its end.
Tensor slice(const Tensor& tensor, const std::vector<AxisPart>& parts);

/// The parts of a tensor of that shape that take all of it.
std::vector<AxisPart> whole_parts(const Shape& shape);

/// Rows first, first + 1, ... of one axis, the others whole.  Errors  ShapeError beyond its end.
Tensor slice_of_axis(const Tensor& tensor, std::size_t axis, std::size_t first, std::size_t count);

/// The numbers of a tensor in another order: the element at (i, j, ...) is its element number
/// offset + i * strides[0] + j * strides[1] + ..., sums modulo 2^64, so that a stride may go back.
///
/// Shapes  result: `shape`, with axes `axis0`, `axis1`, ...
Tensor strided(const Tensor& tensor, const Shape& shape, const Shape& strides,
               std::size_t offset = 0);

/// The strides of a tensor of that shape as it lies in memory.
Shape row_strides(const Shape& shape);

/// Those rows of the first axis of a floating tensor.
Tensor rows_of(const Tensor& tensor, const std::vector<std::size_t>& rows);

/// `axis0`, `axis1`, ...: the names of axes that have no other.
Axes numbered_axes(std::size_t count);

/// The indices of element number `flat`.
std::vector<std::size_t> indices_of(std::size_t flat, const Shape& shape);
/// `[0,2,1]`
std::string index_text(const std::vector<std::size_t>& indices);

}  // namespace attn
