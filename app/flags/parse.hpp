#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor/error.hpp"
#include "attn/walk/words.hpp"

namespace app {

/// The parts of `text` between separators, without blanks at their ends; separators inside square
/// brackets do not count.
std::vector<std::string> split(std::string_view text, char separator);

/// A whole number.  Errors  ConfigError naming the flag.
std::int64_t parse_integer(std::string_view flag, const std::string& text);

/// A number.  Errors  ConfigError naming the flag.
double parse_number(std::string_view flag, const std::string& text);

/// A seed as PyTorch takes it, -2^63 to 2^64-1, as its 64 bits.
std::uint64_t parse_seed(const std::string& text);

/// One of a choice's words.  Errors  ConfigError naming the flag and listing the words.
template <class Choice>
Choice parse_word(std::string_view flag, const std::string& text) {
    std::string all;
    for (const auto& [word, value] : attn::words<Choice>) {
        if (word == text) return value;
        all += (all.empty() ? "" : ", ") + std::string(word);
    }
    throw attn::ConfigError(std::string(flag) + " does not know '" + text + "': use one of " + all);
}

}  // namespace app
