#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Which positions are meant: the rows of the scores or their columns.
enum class Side { query, key };

/// A token, at most 20 characters long, the rest elided. Right-to-left tokens are isolated, so that
/// the sentence around them keeps its order; controls are written out.
std::string shortened(std::string_view token);
/// The same in single quotes.
std::string quoted(std::string_view token);

/// How a sentence calls one position: `'short'`, `'the' (position 3)` where the word occurs more
/// than once, `id 5` for an id without a word, `position 2` (`memory position 2`) without tokens.
std::string label(const Plan& plan, Side side, std::size_t batch, std::size_t position);

/// The same for a query, and for a key, of matrix `group` of a subject.
std::string row_label(const Subject& subject, std::size_t query, std::size_t group = 0);
std::string column_label(const Subject& subject, std::size_t key, std::size_t group = 0);

/// The key as the query sees it: `itself` where they are one token.
std::string seen_label(const Subject& subject, std::size_t query, std::size_t key,
                       std::size_t group = 0);

/// The text with a capital first letter, where it starts with a lower-case ASCII letter.
std::string capitalised(std::string text);

/// A number with four decimals, as the tensors print it; whole, tiny and huge ones in short form.
std::string number(double value);

/// `1 key`, `3 keys`.
std::string counted(std::size_t count, std::string_view what);

/// `feature 2`, `features 0 to 3`: `count` of them, from `first` on.
std::string numbered(std::string_view what, std::size_t first, std::size_t count);

/// ` shown` where only an excerpt is looked at: `The largest weight shown is ...`.
std::string shown_here(const Subject& subject);

/// Adds a sentence after the others.
void say(std::string& note, const std::string& sentence);
void say(Prose& note, const std::string& sentence);

}  // namespace attn::notes
