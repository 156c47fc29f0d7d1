#pragma once
#include <string>

#include "attn/render/print_options.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The text of `print(array)` in NumPy (its `str`), byte for byte.
std::string numpy_str(const Tensor& tensor, const PrintOptions& options = {});

/// The text of an array at a NumPy prompt (its `repr`): `array([[...]])`, byte for byte.
std::string numpy_repr(const Tensor& tensor, const PrintOptions& options = {});

/// The text of a shape as NumPy prints it: `(4, 1)`, `(20,)`, `()`.
std::string numpy_shape_text(const Shape& shape);

}  // namespace attn
