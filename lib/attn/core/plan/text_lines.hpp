#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "attn/ground/text/strings.hpp"

namespace attn {

// Lines of attention files, both the user's and the walk's own.

/// Returns the line without its comment: `#` at its beginning or after a space.
inline std::string_view without_remark(std::string_view line) {
    for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
        if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
    }
    return line;
}

/// Removes the part of a list before the next `between` and returns it, without surrounding spaces.
inline std::string_view next_part(std::string_view& list, std::string_view between) {
    list = trimmed(list);
    const std::size_t end = std::min(list.find_first_of(between), list.size());
    const std::string_view part = trimmed(list.substr(0, end));
    list = trimmed(list.substr(std::min(end + 1, list.size())));
    return part;
}

/// Removes the first word of a text and returns it.
inline std::string_view next_token(std::string_view& text) { return next_part(text, " \t"); }

/// True if a line of a paragraph begins with a word.
bool has_word(const auto& lines, std::string_view word) {
    return std::ranges::any_of(lines, [&](const auto& line) { return line.word == word; });
}

/// Returns the text after a word, one line for each line that begins with it.
std::string text_after(const auto& lines, std::string_view word) {
    std::string text;
    for (const auto& line : lines) {
        if (line.word != word) continue;
        if (!text.empty()) text += '\n';
        text += line.remainder;
    }
    return text;
}

}  // namespace attn
