#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/words.hpp"

namespace attn {

// What the text of a setting says. `called` is its name as it was said, `heads` or `--heads`, with
// which every message begins.

/// The parts of `text` between separators, without blanks at their ends; separators inside square
/// brackets do not count.
std::vector<std::string> split(std::string_view text, char separator);

/// The words of a line as a shell would cut them: at blanks outside of quotes.
std::vector<std::string> shell_words(std::string_view line);

/// The text before the first `end` of a text; all of it where there is none.
inline std::string before(const std::string& text, char end) {
    return text.substr(0, text.find(end));
}

/// `a, b or c`.
std::string listed(const std::vector<std::string>& words, const std::string& before_last = "or");

/// A minus, an en dash and an em dash: editors and web pages put them in the place of hyphens.
inline constexpr std::string_view typographic_dashes[] = {"\u2212", "\u2013", "\u2014"};

/// A whole number.  Errors  ConfigError naming the setting.
std::int64_t parse_integer(std::string_view called, const std::string& text,
                           std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// A number, `0.125` or `1/8`.  Errors  ConfigError naming the setting.
double parse_number(std::string_view called, const std::string& text);

/// A seed as PyTorch takes it, -2^63 to 2^64-1, as its 64 bits.
std::uint64_t parse_seed(std::string_view called, const std::string& text);

/// Token ids, commas or blanks between them, `;` between sequences.
///
/// Errors  ConfigError naming the setting.
Tokens parse_ids(std::string_view called, const std::string& text);
/// The parts between commas or blanks: `1,2 3`.
std::vector<std::string> split_ids(std::string_view text);
/// Larger ids would need an embedding table beyond any memory.
constexpr std::int64_t largest_id = 999'999'999;

/// The id of padding tokens, or `none`.  Errors  ConfigError naming the setting.
std::optional<std::int64_t> parse_pad_id(std::string_view called, const std::string& text);

/// Errors  ConfigError: it takes none but `words`; names the one that was probably meant.
[[noreturn]] void refuse_word(std::string_view called, const std::string& text,
                              const std::vector<std::string>& words);

/// One of a choice's words.  Errors  ConfigError naming the setting and listing the words.
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

/// What a text says, as a value of this type.  Errors  ConfigError naming the setting.
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
