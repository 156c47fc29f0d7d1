// The parts of a document that are judged apart: its numbered sections.
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

}  // namespace app
