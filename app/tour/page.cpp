#include "app/tour/page.hpp"

#include <sstream>

#include "attn/text/strings.hpp"

extern "C" const char attn_tour[];

namespace app {
namespace {

/// A paragraph of Markdown as plain text.
std::string plain(const std::string& words) {
    std::string text;
    for (const char c : words) {
        if (c != '`') text += c;
    }
    return text;
}

void add_line(TourPage& page, const std::string& line, bool is_command, bool continues) {
    if (continues && !is_command) {
        page.blocks.back().text += " " + plain(line);
    } else {
        page.blocks.push_back({is_command, is_command ? line : plain(line)});
    }
}

TourDocument read_document() {
    constexpr std::string_view answer = "Answer: ", heading = "## ", fence = "```";
    TourDocument document;
    TourPage* page = &document.begin;
    bool is_command = false, continues = false;
    std::istringstream lines(attn_tour);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(heading)) {
            const std::size_t dot = line.find(". ");
            const bool is_numbered = dot != std::string::npos;
            page = is_numbered ? &document.pages.emplace_back() : &document.end;
            page->question = line.substr(is_numbered ? dot + 2 : heading.size());
        } else if (line.starts_with(fence)) {
            is_command = !is_command;
        } else if (line.starts_with(answer)) {
            page->answer = line.substr(answer.size());
        } else if (!line.empty() && !line.starts_with("# ")) {
            add_line(*page, line, is_command, continues);
            continues = !is_command;
            continue;
        }
        continues = false;
    }
    return document;
}

}  // namespace

const TourDocument& tour_document() {
    static const TourDocument document = read_document();
    return document;
}

}  // namespace app
