#pragma once
#include <string>
#include <string_view>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

class RowWords;

/// The text that PyTorch prints for a tensor: `tensor([[ 0.3367,  0.1288], ...])`, byte for byte.
///
/// `suffix` is an autograd note, `requires_grad=True` or `grad_fn=<...>`, or empty.
/// With edgeitems 0 a summarised tensor is `tensor([...])`, as in PyTorch 2: version 1.13 fails on
/// matrices there.
///
/// Errors  ConfigError when the precision is negative or above 1074.
std::string torch_text(const Tensor& tensor, const PrintOptions& options = {},
                       std::string_view suffix = {});

/// The same, written in pieces: the memory it takes does not grow with the tensor. Words beside its
/// rows are comments of Python.
void write_torch_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options = {},
                      std::string_view suffix = {}, RowWords* words = nullptr);

/// The text of a shape as PyTorch prints it: `torch.Size([2, 4])`.
std::string torch_size_text(const Shape& shape);

}  // namespace attn
