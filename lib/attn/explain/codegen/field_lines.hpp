#pragma once
#include <string>
#include <string_view>

#include "attn/core/cards/texts.hpp"
#include "attn/explain/codegen/step_lines.hpp"

namespace attn {

/// Returns the meaning of a word in a line of Python, nothing for the words of all lines.
using PythonWords = std::optional<std::string> (*)(std::string_view word, const StepLines& of);

/// Fills the braces of a line: beside the words of cards (attn/core/cards/texts.hpp) `{np}.exp` and
/// `{keepdim}`, which PyTorch and NumPy name differently, the step's `{shape}`, the `{type}` of the
/// walk, and `own` words.
std::string written(std::string_view text, const StepLines& of, PythonWords own = nullptr);

/// The lines that the field has for a step, as F.softmax for the weights; those of its rule if the
/// field has none.
std::string field_lines(const StepLines& of);

// Lines that are made of parts (mask_code.cpp, bias_code.cpp).

/// The lines that make the mask: each kind, and all of them together.
std::string mask_code(const StepLines& of);
/// The lines that make T5's buckets, and those that make the bias of a query and a key.
std::string buckets_code(const StepLines& of);
std::string position_bias_code(const StepLines& of);

}  // namespace attn
