#include "attn/core/settings/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Parses all of `text` as a number.
template <class Number>
std::errc read_into(std::string_view text, Number& value) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size();
    return whole || error == std::errc::invalid_argument ? error : std::errc::invalid_argument;
}

[[noreturn]] void refuse(std::string_view called, const std::string& reason) {
    throw ConfigError(std::string(called) + reason);
}

/// Refuses a text that is not `what`, a number. Editors and web pages may turn a minus into a dash.
[[noreturn]] void refuse_number(std::string_view called, const std::string& text,
                                const std::string& what) {
    const bool has_dash =
        std::ranges::any_of(typographic_dashes, [&](auto dash) { return text.starts_with(dash); });
    refuse(called,
           ": '" + text + "' is not " + what +
               (has_dash ? ": it begins with a dash that is not the keyboard's minus" : ""));
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
            parts.emplace_back(trimmed(text.substr(start, i - start)));
            start = i + 1;
        }
    }
    parts.emplace_back(trimmed(text.substr(start)));
    return parts;
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

std::vector<std::string> split_ids(std::string_view text) {
    std::vector<std::string> ids;
    for (const std::string& part : split(text, ',')) {
        std::vector<std::string> words = shell_words(part);
        if (words.empty()) words = {part};
        ids.insert(ids.end(), words.begin(), words.end());
    }
    return ids;
}

std::string listed(const std::vector<std::string>& words, const std::string& before_last) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " " + before_last + " " : ", ";
        text += words[i];
    }
    return text;
}

std::int64_t parse_integer(std::string_view called, const std::string& text, std::int64_t least,
                           std::int64_t most) {
    std::int64_t value = 0;
    const std::errc error = read_into(text, value);
    const std::string not_this = ", not " + text;
    if (error == std::errc::result_out_of_range) {
        refuse(called, text.starts_with('-')
                           ? " must be at least " + std::to_string(least) + not_this
                           : " must be at most " + std::to_string(most) + not_this);
    }
    if (error != std::errc{}) refuse_number(called, text, "a whole number");
    if (text.size() > 1 && text.front() == '0') {
        refuse(called, ": '" + text + "' begins with 0: write " + std::to_string(value));
    }
    if (value < least) refuse(called, " must be at least " + std::to_string(least) + not_this);
    if (value > most) refuse(called, " must be at most " + std::to_string(most) + not_this);
    return value;
}

double parse_number(std::string_view called, const std::string& text) {
    const std::size_t slash = text.find('/');
    double value = 0, divisor = 1;
    const std::errc error = read_into(text.substr(0, slash), value);
    const bool divides =
        slash == text.npos ||
        (read_into(text.substr(slash + 1), divisor) == std::errc{} && divisor != 0);
    if (error != std::errc{} || !divides || std::isnan(value / divisor)) {
        refuse_number(called, text, "a number");
    }
    return value / divisor;
}

std::uint64_t parse_seed(std::string_view called, const std::string& text) {
    std::uint64_t bits = 0;
    if (read_into(text, bits) == std::errc{}) return bits;
    std::int64_t negative = 0;
    if (read_into(text, negative) == std::errc{}) return static_cast<std::uint64_t>(negative);
    refuse_number(called, text, "a whole number from -2^63 to 2^64-1");
}

Tokens parse_ids(std::string_view called, const std::string& text) {
    Tokens tokens;
    std::vector<std::string> rows = split(text, ';');
    tokens.batch_axis = rows.size() > 1;
    if (rows.size() > 1 && rows.back().empty()) rows.pop_back();
    for (const std::string& row : rows) {
        std::vector<std::int64_t>& ids = tokens.sequences.emplace_back();
        for (const std::string& id : split_ids(row)) {
            ids.push_back(parse_integer(called, id, 0, largest_id));
        }
    }
    return tokens;
}

std::optional<std::int64_t> parse_pad_id(std::string_view called, const std::string& text) {
    if (text == "none") return std::nullopt;
    return parse_integer(called, text, 0, largest_id);
}

void refuse_word(std::string_view called, const std::string& text,
                 const std::vector<std::string>& words) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    std::string here = known_name_for(text, {std::string(called)});
    if (here.empty()) here = known_name_for(text.substr(0, colon), {std::string(called)});
    const std::string value = here.substr(std::min(here.find(' ') + 1, here.size()));
    std::string meant = here.empty() ? closest(text, words) : value;
    if (meant.ends_with(':')) meant += colon + 1 < text.size() ? text.substr(colon + 1) : "4";
    refuse(called, " '" + text + "' is unknown: " +
                       (meant.empty() ? "use " : "did you mean " + meant + "? Use ") +
                       listed(words));
}

}  // namespace attn
