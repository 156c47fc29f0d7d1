#pragma once
#include <string>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// Returns only the numbers, for awk, gnuplot and the like: one line per row of the last axis,
/// spaces between the numbers, one empty line between matrices, two between blocks of matrices and
/// so on.
///
/// Nothing is summarised or wrapped, and no line break follows the last row. Floating-point values
/// have `precision` decimals (default 4), or exponents if PyTorch would use them; bools are 1 and
/// 0. All numbers are padded to the longest. A tensor without elements gives no text.
///
/// Errors  ConfigError if the precision is negative or above 1074.
std::string plain_text(const Tensor& tensor, const PrintOptions& options = {});

/// Writes the text in pieces, with memory that does not grow with the tensor.
void write_plain_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options = {});

}  // namespace attn
