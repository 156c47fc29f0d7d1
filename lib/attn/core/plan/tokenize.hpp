#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/config.hpp"

namespace attn {

/// Splits a text into words: at white space, lower-cased, without punctuation at both ends. Words
/// of any script are otherwise unchanged; pure punctuation is dropped.
///
/// Errors  InputError for bytes that are not UTF-8.
std::vector<std::string> words_of(std::string_view text, bool keep_case = false);

/// True if a word is so long, in a script without spaces between words (Chinese, Japanese, Thai,
/// Lao, Khmer, Burmese), that it is probably several.
bool lacks_blanks(std::string_view word);

/// Returns the composed form (NFC) of a text, so that equal words are equal strings.
std::string composed(const std::string& text);

/// The splitting of a text into tokens.
struct Splitting {
    /// `words`, as by words_of; `chars`, user-perceived characters including spaces; or a regular
    /// expression (ECMAScript), whose matches are the tokens.
    std::string by = "words";
    bool keep_case = false;
};

/// Converts texts to token ids: the vocabulary is the sorted distinct tokens, with ids from 1; 0 is
/// the padding id `<pad>`, which is appended to shorter sequences.
///
/// Errors  InputError for a text without tokens, or invalid UTF-8; ConfigError for an invalid
///         regular expression, and for one of more than 200 bytes or a text of more than 2000,
///         whose search could overflow the stack.
Tokens tokenize(const std::vector<std::string>& texts, const Splitting& splitting = {});

/// Returns the words for the rows of a text's embedding; the id for a row without a word. Empty for
/// tokens without words.
std::vector<std::string> words_of_rows(const Tokens& tokens);

/// Returns the places of a word among the tokens of one sequence, ignoring case.
std::vector<std::size_t> places_of(const std::vector<std::string>& tokens, std::string_view word);

/// Returns the names of a source's tokens, per sequence: their words or ids, replaced by given
/// names. Rows without either are numbered if some have names; without any names the result is
/// empty.
///
/// Errors  ConfigError if there are more or fewer names than tokens; padding needs none.
std::vector<std::vector<std::string>> token_names(
    const Source& source, const std::vector<std::vector<std::string>>& names, std::size_t batch,
    std::size_t length);

}  // namespace attn
