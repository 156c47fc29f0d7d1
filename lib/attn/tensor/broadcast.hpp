#pragma once
#include <string>
#include <vector>

#include "attn/tensor/array.hpp"

namespace attn {

/// How a tensor is read as a larger one: from the right, each length is equal or 1, and axes that
/// it lacks on the left count as 1.
///
/// Shapes  from and to: any; result: one number for each axis of `to`, the elements from one index
///         to the next, 0 where the same element is read again.
/// Errors  ShapeError when it does not broadcast; the names say what the two are.
std::vector<std::size_t> broadcast_strides(const std::string& name, const Shape& from,
                                           const std::string& name_of_to, const Shape& to);

/// The shape that two shapes broadcast to.
Shape broadcast_shape(Shape a, Shape b);

}  // namespace attn
