#include "app/flags/parse.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Reads all of `text` as a number into `value`.
template <class Number>
std::errc read_into(std::string_view text, Number& value) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size();
    return whole || error == std::errc::invalid_argument ? error : std::errc::invalid_argument;
}

[[noreturn]] void refuse(std::string_view flag, const std::string& reason) {
    throw attn::ConfigError(std::string(flag) + reason);
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

std::vector<std::string> split_ids(std::string_view text) {
    std::vector<std::string> ids;
    for (const std::string& part : split(text, ',')) {
        std::vector<std::string> words = shell_words(part);
        if (words.empty()) words = {part};
        ids.insert(ids.end(), words.begin(), words.end());
    }
    return ids;
}

bool looks_like_flag(const std::string& word) {
    const std::size_t end = word.find_first_of(" =");
    const bool holds_blanks = end != word.npos && word[end] == ' ';
    return word.size() > 1 && word[0] == '-' && word != "--" &&
           !(word[1] >= '0' && word[1] <= '9') && word[1] != '.' && !holds_blanks;
}

std::vector<std::string> shell_words(std::string_view line) {
    std::vector<std::string> words;
    char quote = 0;
    bool inside = false;
    for (const char c : line) {
        const bool is_blank = quote == 0 && (c == ' ' || c == '\t');
        if (!is_blank && !inside) words.emplace_back();
        inside = !is_blank;
        if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? '\0' : c;
        } else if (!is_blank) {
            words.back() += c;
        }
    }
    return words;
}

std::string shell_quoted(const std::string& word) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (attn::visible(word) != word) {
        // Characters that a terminal or a line of a page would not survive.
        std::string quoted = "$'";
        for (const char c : word) {
            const bool special = c == '\'' || c == '\\';
            quoted += is_plain(c) ? (special ? "\\" : "") + std::string(1, c)
                                  : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
        return quoted + "'";
    }
    const bool plain = word.find_first_of(" '\"[]*?;&|<>()$`\\#~!{}\n\t") == std::string::npos;
    if (plain && !word.empty()) return word;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

std::string listed(const std::vector<std::string>& words, const std::string& before_last) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " " + before_last + " " : ", ";
        text += words[i];
    }
    return text;
}

bool names_a_file(std::string_view text) {
    return text == "-" || text.find_first_of("./:") != std::string_view::npos;
}

std::int64_t parse_integer(std::string_view flag, const std::string& text, std::int64_t least,
                           std::int64_t most) {
    std::int64_t value = 0;
    const std::errc error = read_into(text, value);
    const std::string not_this = ", not " + text;
    if (error == std::errc::result_out_of_range) {
        refuse(flag, text.starts_with('-') ? " must be at least " + std::to_string(least) + not_this
                                           : " must be at most " + std::to_string(most) + not_this);
    }
    if (error != std::errc{}) refuse(flag, ": '" + text + "' is not a whole number");
    if (text.size() > 1 && text.front() == '0') {
        refuse(flag, ": '" + text + "' begins with 0: write " + std::to_string(value));
    }
    if (value < least) refuse(flag, " must be at least " + std::to_string(least) + not_this);
    if (value > most) refuse(flag, " must be at most " + std::to_string(most) + not_this);
    return value;
}

double parse_number(std::string_view flag, const std::string& text) {
    double value = 0;
    if (read_into(text, value) != std::errc{} || std::isnan(value)) {
        refuse(flag, ": '" + text + "' is not a number");
    }
    return value;
}

std::uint64_t parse_seed(std::string_view flag, const std::string& text) {
    std::uint64_t bits = 0;
    if (read_into(text, bits) == std::errc{}) return bits;
    std::int64_t negative = 0;
    if (read_into(text, negative) == std::errc{}) return static_cast<std::uint64_t>(negative);
    refuse(flag, ": '" + text + "' is not a whole number from -2^63 to 2^64-1");
}

void refuse_word(std::string_view flag, const std::string& text,
                 const std::vector<std::string>& words) {
    std::string meant = attn::closest(text, words);
    const std::string here = attn::called_here(text, {std::string(flag)});
    if (meant.empty() && !here.empty()) meant = here.substr(here.find(' ') + 1);
    refuse(flag, " does not know '" + text +
                     "': " + (meant.empty() ? "" : "did you mean " + meant + "? ") + "use " +
                     listed(words));
}

}  // namespace app
