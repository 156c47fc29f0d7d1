#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/words.hpp"

namespace app {

/// The parts of `text` between separators, without blanks at their ends; separators inside square
/// brackets do not count.
std::vector<std::string> split(std::string_view text, char separator);

/// The same between commas or blanks: `1,2 3`.
std::vector<std::string> split_ids(std::string_view text);

/// The text before the first `end` of a text; all of it where there is none.
inline std::string before(const std::string& text, char end) {
    return text.substr(0, text.find(end));
}

/// Whether a word is meant as a flag: not a number with its sign, nor flags and values in one word.
bool looks_like_flag(const std::string& word);

/// The words of a line as a shell would cut them: at blanks outside of quotes.
std::vector<std::string> shell_words(std::string_view line);

/// A word as it is typed in a shell: quoted where it has to be.
std::string shell_quoted(const std::string& word);

/// `a, b or c`.
std::string listed(const std::vector<std::string>& words, const std::string& before_last = "or");

/// Whether a word that may be another's or a file's is a file's: `-` is standard input, and names
/// of files have a dot, a folder or the name of an array.
bool names_a_file(std::string_view text);

/// A whole number.  Errors  ConfigError naming the flag.
std::int64_t parse_integer(std::string_view flag, const std::string& text,
                           std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// A number.  Errors  ConfigError naming the flag.
double parse_number(std::string_view flag, const std::string& text);

/// A seed as PyTorch takes it, -2^63 to 2^64-1, as its 64 bits.
std::uint64_t parse_seed(std::string_view flag, const std::string& text);

/// Errors  ConfigError: `flag` takes none but `words`; names the one that was probably meant.
[[noreturn]] void refuse_word(std::string_view flag, const std::string& text,
                              const std::vector<std::string>& words);

/// One of a choice's words.  Errors  ConfigError naming the flag and listing the words.
template <class Choice>
Choice parse_word(std::string_view flag, const std::string& text) {
    std::vector<std::string> all;
    for (const auto& [word, value] : attn::words<Choice>) {
        if (word == text) return value;
        all.emplace_back(word);
    }
    refuse_word(flag, text, all);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// What the text of a flag says, as a value of this type.  Errors  ConfigError naming the flag.
template <class T>
T parse_as(std::string_view flag, const std::string& text) {
    if constexpr (is_optional<T>) {
        return parse_as<typename T::value_type>(flag, text);
    } else if constexpr (std::is_same_v<T, bool>) {
        return true;
    } else if constexpr (std::is_enum_v<T>) {
        return parse_word<T>(flag, text);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        return parse_seed(flag, text);
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(parse_integer(flag, text));
    } else if constexpr (std::is_floating_point_v<T>) {
        return parse_number(flag, text);
    } else {
        return text;
    }
}

}  // namespace app
