#pragma once
#include <string>
#include <string_view>

#include "attn/core/cards/texts.hpp"
#include "attn/explain/codegen/step_lines.hpp"

namespace attn {

/// Returns the meaning of a word in a line of Python; nullopt for words that all lines share.
using PythonWords = std::optional<std::string> (*)(std::string_view word, const StepLines& of);

/// Fills in the braces of a line: in addition to the words of cards (attn/core/cards/texts.hpp)
/// `{np}.exp` and `{keepdim}`, which PyTorch and NumPy name differently, the step's `{shape}`, the
/// `{type}` of the walk, and `own` words.
std::string written(std::string_view text, const StepLines& of, PythonWords own = nullptr);

/// Returns the usual lines for a step, such as F.softmax for the weights; else those of its rule.
std::string field_lines(const StepLines& of);

// Lines that are assembled from parts (mask_code.cpp, bias_code.cpp).

/// Returns the lines that make the mask: each kind, and their combination.
std::string mask_code(const StepLines& of);
/// Returns the lines for T5's buckets, and those for the bias of queries and keys.
std::string buckets_code(const StepLines& of);
std::string position_bias_code(const StepLines& of);

}  // namespace attn
