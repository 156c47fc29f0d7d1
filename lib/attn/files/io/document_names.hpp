#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Whether a byte may be part of a name in a document, in any language.
bool is_letter_of_name(char c);

/// Takes off what is no name: calls as `tensor(`, marks of Markdown and LaTeX, numbers of cells.
std::string without_marks(std::string_view text);

/// The names that a label gives: those before each `=`, the last after a colon, a symbol before
/// words.
std::vector<std::string> names_of_label(std::string_view label);

/// What the text before a row calls it, if it numbers rows: nothing, words in quotes, `y_1:`;
/// nullopt for a name.
std::optional<std::string> row_label(std::string_view line);

}  // namespace attn
