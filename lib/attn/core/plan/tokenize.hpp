#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/config.hpp"

namespace attn {

/// The words of a text: cut at white space, lower-cased, punctuation stripped from both ends.
/// Words of any script stay as they are otherwise; what is only punctuation is no word.
///
/// Errors  InputError for bytes that are not UTF-8.
std::vector<std::string> words_of(std::string_view text, bool keep_case = false);

/// Whether a word is so long in a script without blanks between words (Chinese, Japanese, Thai,
/// Lao, Khmer, Burmese) that it is likely several.
bool lacks_blanks(std::string_view word);

/// The composed form (NFC) of a text, so that one word is one string however it was typed.
std::string composed(const std::string& text);

/// How a text becomes tokens.
struct Splitting {
    /// `words`, as words_of gives them; `chars`, what a reader calls characters, blanks too; or a
    /// regular expression (ECMAScript), whose matches are the tokens.
    std::string by = "words";
    bool keep_case = false;
};

/// Texts as token ids: the vocabulary is the sorted distinct tokens, ids from 1; 0 is the padding
/// id `<pad>`, which fills shorter sequences up at the end.
///
/// Errors  InputError for a text without tokens, or bytes that are not UTF-8; ConfigError for what
///         is no regular expression, and for one of more than 200 bytes or a text of more than
///         2000, whose search could need more stack than there is.
Tokens tokenize(const std::vector<std::string>& texts, const Splitting& splitting = {});

/// The word of every row of the embedding of a text; the id of a row that no word has. Empty for
/// tokens without words.
std::vector<std::string> words_of_rows(const Tokens& tokens);

/// Where a word is among the tokens of one sequence, in any case.
std::vector<std::size_t> places_of(const std::vector<std::string>& tokens, std::string_view word);

/// The names of the tokens of a source, for each sequence: their words, or ids, with the given
/// names in place of them. Rows without either are numbered where some of them are named; without
/// names there is nothing to call them by.
///
/// Errors  ConfigError where there are more or fewer names than tokens; what fills a sequence up
///         needs none.
std::vector<std::vector<std::string>> token_names(
    const Source& source, const std::vector<std::vector<std::string>>& names, std::size_t batch,
    std::size_t length);

}  // namespace attn
