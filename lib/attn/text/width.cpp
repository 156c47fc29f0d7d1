#include "attn/text/strings.hpp"

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
        const auto [point, bytes] = first_point(text);
        columns += point < 0 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(point));
        text.remove_prefix(bytes.size());
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
