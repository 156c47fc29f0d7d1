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

/// Settings of a tour: its screen, and the source of the answers.
struct TourSetting {
    std::size_t first = 1;  ///< number of the first page
    /// The terminal of a user who can answer and go back; without one, the pages follow each other,
    /// and each reads one line.
    std::optional<TerminalSize> screen{};
    attn::Ink ink{};
    std::function<std::optional<std::string>()> read;  ///< the next line; nullopt at the end
    std::function<void(const std::string&)> write;
};

/// Shows the pages from the first one on.
void make_tour(const TourSetting& setting);

/// Returns the pages for printing, as `markdown` or `html`, with the output of their commands; the
/// answers come at the end.
std::string tour_handout(std::size_t first, const std::string& format);

/// One screen of the tour: a question, an explanation, the commands that answer it, and an
/// exercise. All of it is in app/tour.md.
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
    TourPage begin, end;          ///< the text before the first page and after the last
};
const TourDocument& tour_document();
/// A paragraph of Markdown as plain text.
std::string plain_text(const std::string& paragraph);

/// Returns the pages as JSON for live pages: question, the steps of the answer, and the text before
/// the first command.
std::string tour_json();

/// The answer to the task of a page, and the command that shows it.
struct TourAnswer {
    attn::RightAnswer right{};
    std::string text{};                   ///< `0.1739`, `'eat'`
    std::vector<std::string> shown_by{};  ///< the words of the command that derives it, if any
};

/// Computes the answer of a page.
TourAnswer answer_of(const TourPage& page);

}  // namespace app
