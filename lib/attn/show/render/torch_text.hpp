#pragma once
#include <string>
#include <string_view>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

class RowWords;

/// Returns PyTorch's text for a tensor: `tensor([[ 0.3367,  0.1288], ...])`, byte for byte.
///
/// `suffix` is an autograd note, `requires_grad=True` or `grad_fn=<...>`, or empty.
/// With edgeitems 0 a summarised tensor is `tensor([...])`, as in PyTorch 2; version 1.13 fails for
/// matrices.
///
/// Errors  ConfigError if the precision is negative or above 1074.
std::string torch_text(const Tensor& tensor, const PrintOptions& options = {},
                       std::string_view suffix = {});

/// Writes the text in pieces, with memory that does not grow with the tensor. Words next to its
/// rows are Python comments.
void write_torch_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options = {},
                      std::string_view suffix = {}, RowWords* words = nullptr);

/// Formats a shape as PyTorch prints it: `torch.Size([2, 4])`.
std::string torch_size_text(const Shape& shape);

}  // namespace attn
