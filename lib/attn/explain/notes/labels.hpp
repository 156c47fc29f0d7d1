#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// The side of a position: rows or columns of the scores.
enum class Side { query, key };

/// Shortens a token to at most 20 characters. Right-to-left tokens are isolated, so that the
/// sentence around them keeps its order; control characters are escaped.
std::string shortened(std::string_view token);
/// Shortens it, and adds single quotes.
std::string quoted_token(std::string_view token);

/// Returns the name of a position in a sentence: `'short'`, `'the' (position 3)` if the word occurs
/// more than once, `id 5` for an id without a word, `position 2` (`memory position 2`) without
/// tokens.
std::string label(const Plan& plan, Side side, std::size_t batch, std::size_t position);

/// Returns the name of a query, and of a key, in matrix `group` of a subject.
std::string row_label(const Subject& subject, std::size_t query, std::size_t group = 0);
std::string column_label(const Subject& subject, std::size_t key, std::size_t group = 0);

/// Returns the name of the key from the query's view: `itself` if they are the same token.
std::string seen_label(const Subject& subject, std::size_t query, std::size_t key,
                       std::size_t group = 0);

/// Capitalises a text that starts with a lower-case ASCII letter.
std::string capitalised(std::string text);

/// Formats a number with four decimals, as in tensors; integers, tiny and huge numbers in short
/// form.
std::string number(double value);

/// Names `count` of them from `first` on: `feature 2`, `features 0 to 3`.
std::string numbered(std::string_view what, std::size_t first, std::size_t count);

/// Returns ` shown` if the subject is an excerpt: `The largest weight shown is ...`.
std::string shown_here(const Subject& subject);

/// Appends a sentence.
void append_sentence(std::string& note, const std::string& sentence);
void append_sentence(Prose& note, const std::string& sentence);

}  // namespace attn::notes
