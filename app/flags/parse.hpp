#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/settings/parse.hpp"
#include "attn/ground/text/collected.hpp"

namespace app {

using attn::before, attn::collected, attn::is_optional, attn::listed, attn::parse_as,
    attn::parse_ids, attn::parse_integer, attn::parse_number, attn::parse_pad_id, attn::parse_word,
    attn::refuse_word, attn::shell_words, attn::split, attn::split_ids;

/// True if a word is meant as a flag: not a negative number, nor flags and values in one word.
bool looks_like_flag(const std::string& word);

/// Quotes a word for a shell if necessary.
std::string shell_quoted(const std::string& word);
/// Returns a command line of these words.
std::string shell_text(const std::vector<std::string>& words);

/// True if a value is a file rather than a word of the flag: `-` is standard input, and file names
/// have a dot, a folder or the name of an array.
bool names_a_file(std::string_view text);

}  // namespace app
