#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// True if a byte may be part of a name in a document, in any language.
bool is_letter_of_name(char c);

/// Removes everything that is not part of a name: calls such as `tensor(`, marks of Markdown and
/// LaTeX, cell numbers.
std::string without_marks(std::string_view text);

/// Returns the names in a label: those before each `=`, the last one after a colon, a symbol before
/// words.
std::vector<std::string> names_of_label(std::string_view label);

/// True for a line that only names the kind of array that follows: `Parameter containing:`, Julia's
/// `2x2 Matrix{Float64}:`.
bool names_type(std::string_view line);

/// Returns the name of a row from the text before it.
struct RowLabel {
    std::string name{};
    std::string stem{};  ///< for separate vectors: `k` for `k1 =` and for `k (cat):`
};
/// The label of a row of a matrix: nothing, words in quotes or before an arrow, a
/// number, `y_1:`, under a title any word; nullopt for the name of a tensor.
std::optional<RowLabel> row_label(std::string_view line, bool has_title);

}  // namespace attn
