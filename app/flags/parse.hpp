#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/settings/parse.hpp"

namespace app {

using attn::before, attn::is_optional, attn::listed, attn::parse_as, attn::parse_ids,
    attn::parse_integer, attn::parse_number, attn::parse_pad_id, attn::parse_word,
    attn::refuse_word, attn::shell_words, attn::split, attn::split_ids;

/// True if a word is meant as a flag: not a number with its sign, nor flags and values in one word.
bool looks_like_flag(const std::string& word);

/// A word as it is typed in a shell: quoted if necessary.
std::string shell_quoted(const std::string& word);

/// True if a word that may be another's or a file's is a file's: `-` is standard input, and names
/// of files have a dot, a folder or the name of an array.
bool names_a_file(std::string_view text);

}  // namespace app
