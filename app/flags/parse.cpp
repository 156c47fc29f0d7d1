#include "app/flags/parse.hpp"

#include <fmt/format.h>

#include "attn/ground/text/strings.hpp"

namespace app {

bool looks_like_flag(const std::string& word) {
    const std::size_t end = word.find_first_of(" =");
    const bool holds_blanks = end != word.npos && word[end] == ' ';
    return word.size() > 1 && word[0] == '-' && word != "--" &&
           !(word[1] >= '0' && word[1] <= '9') && word[1] != '.' && !holds_blanks;
}

std::string shell_quoted(const std::string& word) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (attn::visible(word) != word) {
        // Escapes characters that would break a terminal or a line of a page.
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

std::string shell_text(const std::vector<std::string>& words) {
    return attn::joined(collected(words, shell_quoted), " ");
}

bool names_a_file(std::string_view text) {
    return text == "-" || text.find_first_of("./:") != std::string_view::npos;
}

}  // namespace app
