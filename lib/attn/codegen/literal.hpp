#pragma once
#include <string>

#include "attn/codegen/code.hpp"

namespace attn {

/// The sizes as arguments: `2, 4, 8`.
std::string size_list(const Shape& shape);

/// The sizes as Python's tuple: `(2, 4, 8)`, `(8,)`, `()`.
std::string size_tuple(const Shape& shape);

/// `torch.float64`, `np.bool_`: the type as the language names it.
std::string dtype_code(DType dtype, CodeLanguage language);

/// The tensor written out, `torch.tensor([[1, 2]])` or `np.array([[1, 2]])`, with digits that read
/// back to the same bits. Floating values become `dtype`.
std::string tensor_literal(const Tensor& tensor, DType dtype, CodeLanguage language);

}  // namespace attn
