#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/terminal/terminal.hpp"
#include "attn/ground/text/text_pieces.hpp"
#include "attn/learn/quiz/question.hpp"

namespace app {

/// Where a tour is made: who reads it, and from where the answers come.
struct TourSetting {
    std::size_t first = 1;  ///< number of the first page
    /// A person at a terminal, who is asked and can go back; else the pages follow each other, and
    /// each takes one line of what is read.
    std::optional<TerminalSize> screen{};
    attn::Ink ink{};
    std::function<std::optional<std::string>()> read;  ///< the next line; nothing at the end
    std::function<void(const std::string&)> write;
};

/// Shows the pages from the first one on.
void make_tour(const TourSetting& setting);

/// The same pages on paper, `markdown` or `html`, with what their commands print; the answers come
/// at the end.
std::string tour_handout(std::size_t first, const std::string& format);

/// One screen of the tour: a question, what is said of it, the commands that answer it, and
/// something to try. All of it is in app/tour.md.
struct TourPage {
    struct Block {
        bool is_command = false;
        std::string text;  ///< a command, or a paragraph of Markdown
    };
    std::string question;
    std::vector<Block> blocks;
    std::string answer;  ///< how it is computed: "the largest of `weights[eat]` in `attn-explain`"
};

struct TourDocument {
    std::vector<TourPage> pages;  ///< in their order
    TourPage begin, end;          ///< what is before the first and after the last
};
const TourDocument& tour_document();
/// A paragraph of Markdown as plain text.
std::string plain_text(const std::string& paragraph);

/// The pages for the page of a walk: question, the steps that the answer is read from, and what is
/// said before the first command.
std::string tour_json();

/// The answer to what a page lets one try, and where it can be seen.
struct TourAnswer {
    attn::RightAnswer right{};
    std::string text{};                   ///< `0.1739`, `'eat'`
    std::vector<std::string> shown_by{};  ///< the words of the command that derives it, if any
};

/// Walks to find the answer of a page.
TourAnswer answer_of(const TourPage& page);

}  // namespace app
