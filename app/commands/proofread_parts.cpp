// The parts of a document that are judged apart: its numbered sections, and arrays in full.
#include <algorithm>
#include <cctype>
#include <optional>

#include "app/commands/proofread.hpp"
#include "attn/files/io/document_names.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Returns the word and the number of a heading such as `## Layer 2: local`.
std::optional<std::pair<std::string, std::string>> numbered_heading(std::string_view line) {
    constexpr std::size_t longest = 60;
    const bool is_data = line.find_first_of("[]|&=") != line.npos;
    if (line.size() > longest || is_data || line.ends_with('.')) return std::nullopt;
    std::vector<std::string> words(1);
    for (const char c : line) {
        if (attn::is_letter_of_name(c)) {
            words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    static constexpr std::string_view kinds[] = {"layer",   "head",     "block",
                                                 "example", "sentence", "sequence"};
    for (std::size_t i = 0; i + 1 < words.size() && i < 4; ++i) {
        const bool is_kind = std::ranges::find(kinds, words[i]) != std::end(kinds);
        const bool is_number = words[i + 1].size() < 3 && !words[i + 1].empty() &&
                               words[i + 1].find_first_not_of("0123456789") == std::string::npos;
        if (is_kind && is_number) return std::pair(words[i], words[i + 1]);
    }
    return std::nullopt;
}

/// Returns the end of the array or LaTeX matrix that begins at `at`; `at` if none does.
std::size_t end_of_array(const std::string& text, std::size_t at) {
    if (text.compare(at, 7, "\\begin{") == 0) {
        const std::size_t brace = text.find('}', at);
        const std::string kind = text.substr(at + 7, std::min(brace, text.size()) - at - 7);
        const std::size_t end = text.find("\\end{" + kind, at);
        const bool is_matrix = kind.ends_with("matrix") || kind == "array";
        return is_matrix && end != text.npos ? text.find('}', end) + 1 : at;
    }
    std::size_t depth = 0;
    constexpr std::size_t longest = std::size_t{1} << 14U;
    const std::size_t last = std::min(text.size(), at + longest);
    for (std::size_t i = at; text[at] == '[' && i < last; ++i) {
        if (text[i] == '[') ++depth;
        if (text[i] == ']' && --depth == 0) return i + 1;
    }
    return at;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> numbered_sections(const std::string& text) {
    std::vector<std::pair<std::string, std::string>> sections;
    std::string kind;
    std::size_t first = text.size(), begin = 0;
    std::vector<std::string> numbers;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = attn::trimmed(std::string_view(text).substr(at, end - at));
        const auto heading = numbered_heading(line);
        if (heading && (kind.empty() || kind == heading->first) &&
            std::ranges::find(numbers, heading->second) == numbers.end()) {
            if (!sections.empty()) sections.back().second += text.substr(begin, at - begin);
            if (kind.empty()) first = at;
            kind = heading->first;
            numbers.push_back(heading->second);
            begin = at;
            sections.emplace_back(attn::without_marks(line), text.substr(0, first));
        }
        at = end + 1;
    }
    if (!sections.empty()) sections.back().second += text.substr(begin);
    return sections;
}

std::string without_shortened(std::string text, std::vector<attn::Skipped>& skipped) {
    const auto has_dots = [](std::string_view part) {
        return part.find("...") != part.npos || part.find("\u2026") != part.npos ||
               part.find("dots") != part.npos;
    };
    if (!has_dots(text)) return text;
    for (std::size_t at = 0; (at = text.find_first_of("[\\", at)) != text.npos;) {
        const std::size_t end = end_of_array(text, at);
        const std::string_view array = std::string_view(text).substr(at, end - at);
        const bool is_short = has_dots(array);
        // Dots in brackets without numbers, `[...]`, are no array.
        if (!is_short || array.find_first_of("0123456789") == array.npos) {
            at = end > at && !is_short ? end : at + 1;
            continue;
        }
        const std::size_t line = text.rfind('\n', at) + 1;
        std::string_view label = std::string_view(text).substr(line, at - line);
        if (attn::without_marks(label).empty() && line > 1) {
            const std::size_t above = text.rfind('\n', line - 2) + 1;
            label = std::string_view(text).substr(above, line - 1 - above);
        }
        const std::vector<std::string> names = attn::names_of_label(label);
        skipped.push_back({names.empty() ? "a matrix" : names.front(),
                           "it was shortened when it was printed: print it whole"});
        for (std::size_t i = at; i < end; ++i) {
            if (text[i] != '\n') text[i] = ' ';
        }
        at = end;
    }
    return text;
}

}  // namespace app
