#pragma once
#include <string_view>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// A part of a tensor, in Python's index notation: `0,:,1:3`, `-1`, `...,0`, `::2`.
///
/// A number takes one index and drops its axis; `start:stop:step` keeps the axis; `...` stands for
/// as many full axes as are needed; missing axes at the end are taken whole.
/// Errors  ConfigError for what is no index, ShapeError for an index beyond its axis.
Tensor slice(const Tensor& tensor, std::string_view indices);

}  // namespace attn
