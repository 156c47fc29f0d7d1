#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/words.hpp"

namespace attn {

// Parses the text of a setting. `called` is its name as the user wrote it, `heads` or `--heads`,
// which begins every message.

/// Splits `text` at separators, and trims spaces; ignores separators inside square brackets.
std::vector<std::string> split(std::string_view text, char separator);

/// Splits a line into words like a shell: at spaces outside of quotes.
std::vector<std::string> shell_words(std::string_view line);

/// Returns the text before the first `end`; all of it if there is none.
inline std::string before(const std::string& text, char end) {
    return text.substr(0, text.find(end));
}

/// Formats `a, b or c`.
std::string listed(const std::vector<std::string>& words, const std::string& before_last = "or");

/// A minus, an en dash and an em dash, which editors and web pages use in place of hyphens.
inline constexpr std::string_view typographic_dashes[] = {"\u2212", "\u2013", "\u2014"};

/// Parses an integer.  Errors  ConfigError naming the setting.
std::int64_t parse_integer(std::string_view called, const std::string& text,
                           std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Parses a number, `0.125` or `1/8`.  Errors  ConfigError naming the setting.
double parse_number(std::string_view called, const std::string& text);

/// Parses a seed in PyTorch's range, -2^63 to 2^64-1, as its 64 bits.
std::uint64_t parse_seed(std::string_view called, const std::string& text);

/// Parses token ids, with commas or spaces between them, and `;` between sequences.
///
/// Errors  ConfigError naming the setting.
Tokens parse_ids(std::string_view called, const std::string& text);
/// Splits at commas or spaces: `1,2 3`.
std::vector<std::string> split_ids(std::string_view text);
/// Larger ids would need an embedding table that exceeds any memory.
constexpr std::int64_t largest_id = 999'999'999;

/// Parses the id of padding tokens, or `none`.  Errors  ConfigError naming the setting.
std::optional<std::int64_t> parse_pad_id(std::string_view called, const std::string& text);

/// Errors  ConfigError, always: only `words` are allowed; suggests the one that was probably meant.
[[noreturn]] void refuse_word(std::string_view called, const std::string& text,
                              const std::vector<std::string>& words);

/// Parses one of an enumeration's words.  Errors  ConfigError naming the setting and listing the
/// words.
template <class Choice>
Choice parse_word(std::string_view called, const std::string& text) {
    std::vector<std::string> all;
    for (const auto& [word, value] : words<Choice>) {
        if (word == text) return value;
        all.emplace_back(word);
    }
    refuse_word(called, text, all);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Parses a text as a value of this type.  Errors  ConfigError naming the setting.
template <class T>
T parse_as(std::string_view called, const std::string& text) {
    if constexpr (is_optional<T>) {
        return parse_as<typename T::value_type>(called, text);
    } else if constexpr (std::is_same_v<T, bool>) {
        return true;
    } else if constexpr (std::is_enum_v<T>) {
        return parse_word<T>(called, text);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        return parse_seed(called, text);
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(parse_integer(called, text));
    } else if constexpr (std::is_floating_point_v<T>) {
        return parse_number(called, text);
    } else {
        return text;
    }
}

}  // namespace attn
