#include "attn/ground/text/strings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <utf8proc.h>

#include "attn/ground/tensor/error.hpp"

namespace attn {

bool is_disruptive(std::int32_t point) {
    const utf8proc_category_t category = utf8proc_category(point);
    const bool direction = (point >= 0x202A && point <= 0x202E) ||
                           (point >= 0x2066 && point <= 0x2069) || point == 0x200E ||
                           point == 0x200F || point == 0x061C;
    // Characters without a glyph: two words that look alike would not be the same.
    const bool invisible = point == 0xAD || point == 0x200B ||
                           (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
                           (point >= 0xFFF9 && point <= 0xFFFB) ||
                           (point >= 0xE0000 && point <= 0xE007F);
    return direction || invisible || category == UTF8PROC_CATEGORY_CC ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

namespace {

std::string escaped(utf8proc_int32_t point) {
    if (point == '\n') return "\\n";
    if (point == '\r') return "\\r";
    if (point == '\t') return "\\t";
    return point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
}

}  // namespace

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_name(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        const bool begins = at == 0 || !is_of_name(text[at - 1]);
        if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
    }
    return false;
}

std::string replaced_all(std::string text, std::string_view word, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size()) {
        text.replace(at, word.size(), by);
    }
    return text;
}

std::string replaced_all(std::string text,
                         const std::vector<std::pair<std::string, std::string>>& words) {
    for (const auto& [word, by] : words) text = replaced_all(std::move(text), word, by);
    return text;
}

std::string filled(std::string_view text, const BraceWord& of) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t open = std::min(text.find('{', at), text.size());
        all += text.substr(at, open - at);
        at = open;
        const std::size_t end = text.find('}', open);
        if (end == text.npos) return all += text.substr(at);
        const auto meant = of(text.substr(open + 1, end - open - 1));
        all += meant ? *meant : "{";
        at = meant ? end + 1 : open + 1;
    }
    return all;
}

std::string filled(std::string_view text, const BraceWords& words) {
    return filled(text, [&](std::string_view word) -> std::optional<std::string> {
        for (const auto& [known, meant] : words) {
            if (known == word) return meant;
        }
        return std::nullopt;
    });
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += between;
        text += words[i];
    }
    return text;
}

std::string some_of(const std::vector<std::string>& words) {
    constexpr std::size_t most = 12;
    if (words.size() <= most) return joined(words);
    const std::size_t others = words.size() - most;
    return joined({words.begin(), words.begin() + most}) + " and " + std::to_string(others) +
           (others == 1 ? " other" : " others");
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string lower(std::string_view text) {
    std::string small(text);
    for (char& c : small) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return small;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks{" \t\r"};
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<double> parse_number(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    double number = 0.0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

Utf8Point first_point(std::string_view text) {
    utf8proc_int32_t point = -1;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &point);
    if (length < 1) return {-1, text.substr(0, 1)};
    return {point, text.substr(0, static_cast<std::size_t>(length))};
}

std::string utf8_of(std::int32_t point) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t length = utf8proc_encode_char(point, bytes.data());
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length)};
}

std::vector<std::pair<std::int32_t, std::string_view>> points_of(std::string_view text) {
    std::vector<std::pair<std::int32_t, std::string_view>> points;
    for (std::size_t i = 0; i < text.size();) {
        const auto [point, bytes] = first_point(text.substr(i));
        if (point < 0) {
            throw InputError("the text is not UTF-8 at byte " + std::to_string(i) +
                             ": save it as UTF-8");
        }
        points.emplace_back(point, bytes);
        i += bytes.size();
    }
    return points;
}

std::vector<std::string> visible_characters(std::string_view text) {
    std::vector<std::string> characters;
    utf8proc_int32_t before = -1;
    utf8proc_int32_t state = 0;
    while (!text.empty()) {
        const auto [point, bytes] = first_point(text);
        if (point < 0 || is_disruptive(point)) {
            characters.push_back(escaped(point < 0 ? static_cast<unsigned char>(text[0]) : point));
            before = -1;
            state = 0;
        } else {
            const bool starts =
                before < 0 || utf8proc_grapheme_break_stateful(before, point, &state);
            if (starts) characters.emplace_back();
            characters.back() += bytes;
            before = point;
        }
        text.remove_prefix(bytes.size());
    }
    return characters;
}

std::string visible(std::string_view text) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (std::ranges::all_of(text, is_plain)) return std::string(text);
    const std::vector<std::string> characters = visible_characters(text);
    return joined(characters, "");
}

std::string visible_labels(std::string_view text) {
    constexpr std::string_view begin = "\u2068", end = "\u2069";
    std::string result;
    while (true) {
        const std::size_t open = text.find(begin);
        result += visible(text.substr(0, open));
        if (open == text.npos) return result;
        text.remove_prefix(open + begin.size());
        const std::size_t close = std::min(text.find(end), text.size());
        result.append(begin).append(visible(text.substr(0, close))).append(end);
        text.remove_prefix(std::min(close + end.size(), text.size()));
    }
}

std::string visible_lines(std::string_view text, bool keeps_colors) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = text.find_first_of("\n\t\x1b", i);
        if (end != i) {
            end = std::min(end, text.size());
            result += visible_labels(text.substr(i, end - i));
        } else if (text[i] == '\x1b') {
            end = std::min(text.find_first_not_of("[0123456789;", i + 1), text.size() - 1) + 1;
            const std::string_view sequence = text.substr(i, end - i);
            const bool colors = sequence.starts_with("\x1b[") && sequence.back() == 'm';
            result += keeps_colors && colors ? std::string(sequence) : visible(sequence);
        } else {
            result += text[end++];
        }
        i = end;
    }
    return result;
}

std::string quoted_text(std::string_view text) {
    constexpr std::size_t limit = 40;
    // A character takes at least one byte, and rarely more than eight.
    std::vector<std::string> characters = visible_characters(text.substr(0, 8 * limit));
    const bool whole = characters.size() <= limit && text.size() <= 8 * limit;
    characters.resize(std::min(characters.size(), limit));
    return "'" + joined(characters, "") + (whole ? "'" : "...'");
}

std::string markdown_prose(std::string_view prose) {
    constexpr std::string_view special = "\\`*_{}[]#|~$";
    std::string text;
    for (const char letter : prose) {
        // Some Markdown converters do not support a backslash before these.
        if (letter == '<') text += "&lt;";
        if (letter == '>') text += "&gt;";
        if (letter == '&') text += "&amp;";
        if (letter == '<' || letter == '>' || letter == '&') continue;
        if (special.find(letter) != special.npos) text += '\\';
        text += letter == '\n' ? ' ' : letter;
    }
    return text;
}

std::string markdown_code(const std::string& code) {
    const std::string ticks = markdown_fence(code, 1);
    return ticks.size() == 1 ? ticks + code + ticks : ticks + " " + code + " " + ticks;
}

std::string markdown_fence(std::string_view content, std::size_t least) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char letter : content) {
        run = letter == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return std::string(std::max(least, longest + 1), '`');
}

namespace {

/// Counts the leading characters that are printable ASCII, each one column wide.
std::size_t plain_start(std::string_view text) {
    const auto end =
        std::find_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
    return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (true) {
        const std::size_t plain = plain_start(text);
        columns += plain;
        text.remove_prefix(plain);
        if (text.empty()) return columns;
        const auto [point, bytes] = first_point(text);
        columns += point < 0 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(point));
        text.remove_prefix(bytes.size());
    }
}

std::string counted(std::size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    std::size_t used = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
        const std::string_view word = text.substr(0, end);
        const bool ends_line = end < text.size() && text[end] == '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t width = display_width(word);
        if (word.empty()) {
            // Several spaces are one.
        } else if (lines.empty() || used + 1 + width > columns) {
            lines.emplace_back(word);
            used = width;
        } else {
            lines.back().append(" ").append(word);
            used += 1 + width;
        }
        if (ends_line) used = columns;
    }
    return lines;
}

std::string cut_to(std::string_view text, std::size_t columns) {
    if (display_width(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    std::string cut;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view next = first_point(text.substr(at)).bytes;
        const std::string longer = cut + std::string(next);
        if (display_width(longer) + 1 > columns) break;
        cut = longer;
        at += next.size();
    }
    return cut + "…";
}

std::string fitted(std::string_view text, std::size_t columns, bool to_the_right) {
    const std::string cut = cut_to(text, columns);
    const std::string blanks(columns - std::min(columns, display_width(cut)), ' ');
    return to_the_right ? blanks + cut : cut + blanks;
}

}  // namespace attn
