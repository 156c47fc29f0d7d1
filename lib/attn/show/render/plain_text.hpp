#pragma once
#include <string>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// The numbers alone, for awk, gnuplot and their like: a line for each row of the last axis, blanks
/// between the numbers, one empty line between matrices, two between blocks of matrices and so on.
///
/// Nothing is summarised or wrapped, and no line break follows the last row. Floating values have
/// `precision` decimals (default 4), or the exponent form where PyTorch would choose it; bools are
/// 1 and 0. All numbers are padded to the longest. A tensor without elements gives no text.
///
/// Errors  ConfigError when the precision is negative or above 1074.
std::string plain_text(const Tensor& tensor, const PrintOptions& options = {});

/// The same, written in pieces: the memory it takes does not grow with the tensor.
void write_plain_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options = {});

}  // namespace attn
