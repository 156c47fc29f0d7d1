#include "attn/text/markdown.hpp"

#include <algorithm>

namespace attn {

std::string markdown_prose(std::string_view prose) {
    constexpr std::string_view special = "\\`*_{}[]#|~$";
    std::string text;
    for (const char letter : prose) {
        // Some programs that convert Markdown to HTML know no backslash before these.
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

}  // namespace attn
