#include "attn/notes/labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <utf8proc.h>

namespace attn::notes {
namespace {

constexpr std::size_t longest_label = 20;

bool is_right_to_left(utf8proc_int32_t character) {
    const auto direction = utf8proc_get_property(character)->bidi_class;
    return direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL;
}

/// True for what would break the line or the order of the sentence: controls and explicit
/// directions.
bool is_disruptive(utf8proc_int32_t character) {
    const utf8proc_category_t category = utf8proc_category(character);
    const bool direction = (character >= 0x202A && character <= 0x202E) ||
                           (character >= 0x2066 && character <= 0x2069);
    return direction || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

/// The code points of a text; what is no UTF-8, or disruptive, becomes U+FFFD.
std::vector<utf8proc_int32_t> code_points(std::string_view text) {
    constexpr utf8proc_int32_t replacement = 0xFFFD;
    std::vector<utf8proc_int32_t> points;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    auto left = static_cast<utf8proc_ssize_t>(text.size());
    while (left > 0) {
        utf8proc_int32_t point = -1;
        utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &point);
        if (length < 1 || point < 0) {
            length = 1;
            point = replacement;
        }
        points.push_back(is_disruptive(point) ? replacement : point);
        bytes += length;
        left -= length;
    }
    return points;
}

std::string as_utf8(utf8proc_int32_t point) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t length = utf8proc_encode_char(point, bytes.data());
    return {bytes.begin(), bytes.begin() + length};
}

/// The text cut into what a reader calls characters: an accented letter or a joined emoji is one.
std::vector<std::string> characters(const std::vector<utf8proc_int32_t>& points) {
    std::vector<std::string> result;
    utf8proc_int32_t state = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const bool starts =
            i == 0 || utf8proc_grapheme_break_stateful(points[i - 1], points[i], &state);
        if (starts) result.emplace_back();
        result.back() += as_utf8(points[i]);
    }
    return result;
}

/// The source whose tokens stand at the positions of that side; nullptr when it has none.
const Tokens* tokens_of(const Plan& plan, Side side) {
    const bool remembered = side == Side::key && plan.config.memory.has_value();
    return std::get_if<Tokens>(remembered ? &*plan.config.memory : &plan.config.input);
}

/// The word, quoted, or the id where there is no word for it.
std::string token_name(const Tokens* tokens, std::size_t batch, std::size_t position,
                       const std::string& token) {
    if (tokens != nullptr && !tokens->sequences.empty()) {
        const auto& sequence = tokens->sequences[std::min(batch, tokens->sequences.size() - 1)];
        const bool has_word =
            position >= sequence.size() ||
            static_cast<std::size_t>(sequence[position]) < tokens->vocabulary.size();
        if (!has_word) return "id " + token;
    }
    return quoted(token);
}

}  // namespace

std::string quoted(std::string_view token) {
    const std::vector<utf8proc_int32_t> points = code_points(token);
    std::vector<std::string> shown = characters(points);
    if (shown.size() > longest_label) {
        shown.resize(longest_label - 1);
        shown.emplace_back("…");
    }
    const bool isolated = std::any_of(points.begin(), points.end(), is_right_to_left);
    std::string text = isolated ? "'\u2068" : "'";
    for (const std::string& character : shown) text += character;
    return text + (isolated ? "\u2069'" : "'");
}

std::string label(const Plan& plan, Side side, std::size_t batch, std::size_t position) {
    const auto& sequences = side == Side::query ? plan.query_tokens : plan.key_tokens;
    const std::string place = "position " + std::to_string(position);
    if (sequences.empty() || position >= sequences[std::min(batch, sequences.size() - 1)].size()) {
        return side == Side::key && plan.has_memory ? "memory " + place : place;
    }
    const auto& tokens = sequences[std::min(batch, sequences.size() - 1)];
    const std::string name = token_name(tokens_of(plan, side), batch, position, tokens[position]);
    const bool repeated = std::count(tokens.begin(), tokens.end(), tokens[position]) > 1;
    return repeated ? name + " (" + place + ")" : name;
}

std::string row_label(const Plan& plan, std::size_t batch, std::size_t query) {
    return label(plan, Side::query, batch, query);
}

std::string column_label(const Plan& plan, std::size_t batch, std::size_t key) {
    return label(plan, Side::key, batch, key);
}

std::string seen_label(const Plan& plan, std::size_t batch, std::size_t query, std::size_t key) {
    return !plan.has_memory && query == key ? "itself" : column_label(plan, batch, key);
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
    }
    return text;
}

std::string number(double value) {
    const double size = std::abs(value);
    std::array<char, 64> text{};
    const char* form = "%.4g";
    if (std::isfinite(value) && size < 1e6) {
        if (value == std::trunc(value)) {
            value += 0.0;  // -0 is told as 0
            form = "%.0f";
        } else if (size >= 1e-3) {
            form = "%.4f";
        }
    }
    if (std::isnan(value)) return "nan";
    std::snprintf(text.data(), text.size(), form, value);
    return text.data();
}

std::string counted(std::size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string numbered(std::string_view what, std::size_t first, std::size_t count) {
    const std::string from = std::to_string(first);
    if (count == 1) return std::string(what) + " " + from;
    return std::string(what) + "s " + from + " to " + std::to_string(first + count - 1);
}

void say(std::string& note, const std::string& sentence) {
    if (sentence.empty()) return;
    if (!note.empty()) note += ' ';
    note += sentence;
}

}  // namespace attn::notes
