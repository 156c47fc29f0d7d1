#include "app/tour/tour.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/notebooks/notebook.hpp"

extern "C" const char attn_tour[];

namespace app {
namespace {

void add_line(TourPage& page, const std::string& line, bool is_command, bool continues) {
    if (continues && !is_command) {
        page.blocks.back().text += " " + line;
    } else {
        page.blocks.push_back({is_command, line});
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

/// The walk for an answer.
struct Answering : attn::Walked {
    explicit Answering(const std::vector<std::string>& flags) : attn::Walked(computed_by(flags)) {}

    static attn::Walked computed_by(const std::vector<std::string>& flags) {
        Arguments arguments(commands().front().tables);
        arguments.parse(flags);
        return walk_of(completed(std::move(arguments)));
    }
    attn::Cell cell(const std::string& text) const {
        return attn::parse_cell(plan, table, ledger, text);
    }
    /// Returns the cells of a row: for `weights[eat]` those on the last axis.
    std::vector<attn::Cell> row(const std::string& text) const {
        attn::Cell first = cell(text.substr(0, text.size() - 1) + ",0]");
        std::vector<attn::Cell> cells(ledger[first.step].shape().back(), first);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells[i].indices.back() = i;
            cells[i] = cell(attn::cell_text(cells[i]));
        }
        return cells;
    }
};

/// One operand of an answer: an operation on cells.
struct Operand {
    std::string asks;  ///< `the sum of`; empty for a cell
    std::string of;
};

double number_of(const Operand& operand, const Answering& walked) {
    if (operand.asks.empty()) return walked.cell(operand.of).value;
    if (operand.asks == "the size of") {
        const attn::WantedPart part = parts_in(operand.of).front();
        const std::string place = part.sliced ? part.indices : "...";
        return static_cast<double>(attn::slice(walked.ledger[part.name], place).size());
    }
    const std::vector<attn::Cell> row = walked.row(operand.of);
    const bool counts = operand.asks == "how many are not 0 of";
    return std::accumulate(row.begin(), row.end(), 0.0, [&](double sum, const attn::Cell& cell) {
        return sum + (counts ? (cell.value != 0 ? 1 : 0) : cell.value);
    });
}

/// Returns the word of the largest or the smallest cell of a row.
TourAnswer name_of(const Operand& operand, const Answering& walked) {
    const std::vector<attn::Cell> row = walked.row(operand.of);
    const auto less = [](const attn::Cell& a, const attn::Cell& b) { return a.value < b.value; };
    const auto best = operand.asks == "the largest of" ? std::ranges::max_element(row, less)
                                                       : std::ranges::min_element(row, less);
    TourAnswer answer;
    answer.right.kind = attn::RightAnswer::Kind::names;
    for (const attn::Cell& cell : row) {
        const std::string& name = walked.plan.key_tokens.at(0).at(cell.indices.back());
        if (&cell == &*best) {
            answer.right.names = {{name}};
            answer.text = "'" + name + "'";
            answer.shown_by = {"why", attn::cell_text(cell)};
        } else {
            answer.right.others.push_back(name);
        }
    }
    return answer;
}

}  // namespace

std::string plain_text(const std::string& paragraph) {
    return attn::replaced_all(paragraph, {{"`", ""}});
}

const TourDocument& tour_document() {
    static const TourDocument document = read_document();
    return document;
}

std::string tour_json() {
    std::vector<attn::JsonText> stops;
    for (const TourPage& page : tour_document().pages) {
        std::vector<std::string> steps;
        const std::vector<std::string> parts = split(page.answer, '`');
        for (std::size_t i = 1; i + 2 < parts.size(); i += 2) {
            steps.push_back(parts[i].substr(0, parts[i].find('[')));
        }
        const TourPage::Block& first = page.blocks.front();
        stops.push_back({{"question", page.question},
                         {"of", steps},
                         {"text", first.is_command ? "" : plain_text(first.text)}});
    }
    return attn::JsonText(stops, ",\n").text;
}

TourAnswer answer_of(const TourPage& page) {
    const std::vector<std::string> parts = split(page.answer, '`');
    std::vector<Operand> operands;
    for (std::size_t i = 0; i + 3 < parts.size(); i += 2) {
        const std::size_t begin = parts[i].starts_with("/") ? 1 : 0;
        operands.push_back({std::string(attn::trimmed(parts[i].substr(begin))), parts[i + 1]});
    }
    std::vector<std::string> words = shell_words(parts.at(parts.size() - 2));
    words.erase(words.begin());
    const Answering walked(words);
    const Operand& first = operands.at(0);
    TourAnswer answer;
    if (first.asks == "the largest of" || first.asks == "the smallest of") {
        answer = name_of(first, walked);
    } else {
        answer.right.number = number_of(first, walked);
        if (operands.size() > 1) answer.right.number /= number_of(operands[1], walked);
        answer.text = attn::notes::number(answer.right.number);
        const Operand& last = operands.back();
        if (last.asks == "the size of") return answer;  // a count is derived from no cell
        const attn::Cell cell =
            last.asks.empty() ? walked.cell(last.of) : walked.row(last.of).front();
        answer.shown_by = {"why", attn::cell_text(cell)};
    }
    answer.shown_by.insert(answer.shown_by.end(), words.begin(), words.end());
    return answer;
}

}  // namespace app
