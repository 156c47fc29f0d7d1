#include "attn/text/width.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace attn {
namespace {

/// How many of the first characters are printable ASCII, each one column wide.
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
        utf8proc_int32_t codepoint = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                             static_cast<utf8proc_ssize_t>(text.size()), &codepoint);
        if (length <= 0) {
            ++columns;
            text.remove_prefix(1);
            continue;
        }
        columns += static_cast<std::size_t>(utf8proc_charwidth(codepoint));
        text.remove_prefix(static_cast<std::size_t>(length));
    }
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    std::size_t used = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        const std::size_t width = display_width(word);
        if (lines.empty() || used + 1 + width > columns) {
            lines.emplace_back(word);
            used = width;
        } else {
            lines.back().append(" ").append(word);
            used += 1 + width;
        }
    }
    return lines;
}

std::string cut_to(std::string_view text, std::size_t columns) {
    if (display_width(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    std::string cut;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t next = at + 1;
        while (next < text.size() && (text[next] & 0xC0) == 0x80) ++next;
        const std::string longer = cut + std::string(text.substr(at, next - at));
        if (display_width(longer) + 1 > columns) break;
        cut = longer;
        at = next;
    }
    return cut + "…";
}

std::string fitted(std::string_view text, std::size_t columns, bool to_the_right) {
    const std::string cut = cut_to(text, columns);
    const std::string blanks(columns - std::min(columns, display_width(cut)), ' ');
    return to_the_right ? blanks + cut : cut + blanks;
}

}  // namespace attn
