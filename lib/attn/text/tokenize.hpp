#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/walk/config.hpp"

namespace attn {

/// The words of a text: cut at white space, lower-cased, punctuation stripped from both ends.
/// Words of any script stay as they are otherwise; what is only punctuation is no word.
///
/// Errors  InputError for bytes that are not UTF-8.
std::vector<std::string> words_of(std::string_view text);

/// Texts as token ids: the vocabulary is the sorted distinct words, ids from 1; 0 is the padding
/// id `<pad>`, which fills shorter sequences up at the end.
///
/// Errors  InputError for a text without words, or bytes that are not UTF-8.
Tokens tokenize(const std::vector<std::string>& texts);

/// Where a word stands among the tokens of one sequence, in any case.
std::vector<std::size_t> places_of(const std::vector<std::string>& tokens, std::string_view word);

}  // namespace attn
