#include "app/flags/parse.hpp"

#include <charconv>

#include "attn/text/strings.hpp"

namespace app {
namespace {

/// True when all of `text` reads as a number into `value`.
template <class Number>
bool reads_as(std::string_view text, Number& value) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[') ++depth;
        if (text[i] == ']') --depth;
        if (text[i] == separator && depth == 0) {
            parts.emplace_back(attn::trimmed(text.substr(start, i - start)));
            start = i + 1;
        }
    }
    parts.emplace_back(attn::trimmed(text.substr(start)));
    return parts;
}

std::int64_t parse_integer(std::string_view flag, const std::string& text) {
    std::int64_t value = 0;
    if (reads_as(text, value)) return value;
    throw attn::ConfigError(std::string(flag) + ": '" + text + "' is not a whole number");
}

double parse_number(std::string_view flag, const std::string& text) {
    double value = 0;
    if (reads_as(text, value)) return value;
    throw attn::ConfigError(std::string(flag) + ": '" + text + "' is not a number");
}

std::uint64_t parse_seed(const std::string& text) {
    std::uint64_t bits = 0;
    if (reads_as(text, bits)) return bits;
    std::int64_t negative = 0;
    if (reads_as(text, negative)) return static_cast<std::uint64_t>(negative);
    throw attn::ConfigError("--seed: '" + text + "' is not a whole number from -2^63 to 2^64-1");
}

}  // namespace app
