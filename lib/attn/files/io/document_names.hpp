#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// True if a byte may be part of a name in a document, in any language.
bool is_letter_of_name(char c);

/// Removes everything that is no name: calls such as `tensor(`, marks of Markdown and LaTeX, cell
/// numbers.
std::string without_marks(std::string_view text);

/// Returns the names in a label: those before each `=`, the last one after a colon, a symbol before
/// words.
std::vector<std::string> names_of_label(std::string_view label);

/// Returns the label before a row if it numbers rows: an empty text, words in quotes, `y_1:`;
/// nullopt for a name.
std::optional<std::string> row_label(std::string_view line);

}  // namespace attn
