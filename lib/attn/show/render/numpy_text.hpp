#pragma once
#include <string>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

class RowWords;

/// Returns the text of NumPy's `print(array)` (its `str`), byte for byte. A scalar is printed with
/// the digits that identify it, whatever the precision.
///
/// Errors  ConfigError if the precision is negative or above 1074.
std::string numpy_str(const Tensor& tensor, const PrintOptions& options = {});

/// Writes the text in pieces, with memory that does not grow with the array.
void write_numpy_str(TextPieces& text, const Tensor& tensor, const PrintOptions& options = {},
                     RowWords* words = nullptr);

}  // namespace attn
