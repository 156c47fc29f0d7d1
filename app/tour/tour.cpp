#include "app/tour/tour.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "app/cli.hpp"
#include "app/commands/commands.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

namespace app {
namespace {

namespace fs = std::filesystem;

/// Returns the words after the program's name if a line is a command: `$ attn-explain --heads 2`,
/// or without the name.
std::vector<std::string> command_in(std::string_view line) {
    if (line.starts_with("$ ")) line.remove_prefix(2);
    if (!line.starts_with("attn-explain") && !line.starts_with("--")) {
        const std::size_t end = line.find(' ');
        const bool has_more = end != std::string_view::npos;
        if (!has_more || find_command(line.substr(0, end)) == nullptr) return {};
    }
    std::vector<std::string> words = shell_words(line);
    if (words.front() != "attn-explain") words.insert(words.begin(), "attn-explain");
    return words;
}

std::string folder_name() {
    std::error_code none;
    const fs::path temporary = fs::temp_directory_path(none);
    if (none) {
        throw attn::OutputError(environment("TMPDIR") +
                                ": no folder for temporary files: set TMPDIR to one");
    }
    return (temporary / ("attn-tour-" + std::to_string(getpid()))).string();
}

/// The files that the commands of a page write, deleted when the page is left.
class TourFiles {
public:
    explicit TourFiles(const TourPage& page) {
        for (const TourPage::Block& block : page.blocks) {
            const std::vector<std::string> words = shell_words(block.is_command ? block.text : "");
            const auto flag = std::ranges::find(words, "-o");
            if (flag == words.end()) continue;
            if (!folder_) folder_.emplace(folder_name());
            path_ = fs::path(folder_->file(*(flag + 1)).path).parent_path();
        }
    }

    /// Runs a command, in the folder of these files if it writes or reads one of them.
    void run(const std::vector<std::string>& words, bool is_of_page) const {
        std::error_code none;
        const auto is_here = [&](const auto& word) { return fs::exists(path_ / word, none); };
        const fs::path before = fs::current_path();
        if (folder_ && (is_of_page || std::any_of(words.begin() + 1, words.end(), is_here))) {
            fs::current_path(path_);
        }
        try {
            app::run({words.begin() + 1, words.end()});
        } catch (...) {
            fs::current_path(before);
            throw;
        }
        fs::current_path(before);
    }

private:
    std::optional<attn::OutputFolder> folder_;
    fs::path path_;
};

class Tour {
public:
    explicit Tour(const TourSetting& setting) : setting_(setting) {}

    void make() {
        if (setting_.first == 1 && !setting_.screen) {
            page_text_ = wrapped(plain_text(document_.begin.blocks.at(0).text)) + "\n";
        }
        for (number_ = setting_.first - 1; number_ < document_.pages.size() && !is_left_;) {
            show_page(document_.pages[number_]);
        }
        if (is_left_) {
            write("attn-explain tour " + std::to_string(number_ + 1) + " continues from here.\n");
            return;
        }
        page_text_ =
            heading(document_.end.question) + wrapped(plain_text(document_.end.blocks.at(0).text));
        if (!tried_.empty()) {
            page_text_ += "\nYou answered " + std::to_string(right_.size()) + " of " +
                          std::to_string(document_.pages.size()) + " questions.\n";
        }
        write_page();
    }

private:
    std::size_t columns() const { return setting_.screen ? setting_.screen->columns : 80; }
    void write(const std::string& text) const { setting_.write(text); }
    std::string wrapped(const std::string& words, std::string_view kind = {}) const {
        std::string text;
        for (const std::string& line : attn::wrap(words, columns())) {
            text += setting_.ink.of(kind, line) + "\n";
        }
        return text;
    }
    void print_text(const std::string& words) const { write(wrapped(words)); }

    std::string heading(const std::string& question) const {
        return wrapped(question, setting_.ink.heading) + "\n";
    }

    /// Adapts a command so that its rows of numbers fit the width of the screen.
    std::vector<std::string> narrowed(std::vector<std::string> words) const {
        const Command* command = find_command(words.size() > 1 ? words[1] : "");
        if (command == nullptr) command = find_command("");
        const bool prints = Arguments(command->tables).find(flags::linewidth) != nullptr;
        if (prints && columns() < 80) {
            words.insert(words.end(), {"--linewidth", std::to_string(columns())});
        }
        return words;
    }

    /// Returns a page with the current output of its commands.
    std::string text_of(const TourPage& page, const TourFiles& files) const {
        std::string text = heading(std::to_string(number_ + 1) + " of " +
                                   std::to_string(document_.pages.size()) + ". " + page.question);
        bool after_command = false;
        for (const TourPage::Block& block : page.blocks) {
            const bool is_first = &block == &page.blocks.front();
            if (!is_first && !(block.is_command && after_command)) text += "\n";
            after_command = block.is_command;
            if (!block.is_command) {
                text += wrapped(plain_text(block.text));
                continue;
            }
            std::string command = folded("$ " + block.text, columns());
            command.pop_back();
            text += setting_.ink.of(setting_.ink.formula, command) + "\n";
            KeptOutput kept;
            files.run(narrowed(shell_words(block.text)), true);
            text += kept.text;
        }
        return text;
    }

    /// Writes the collected text, one screenful at a time. Returns text typed in between, other
    /// than Enter.
    std::string write_page() {
        std::string text = std::exchange(page_text_, {});
        std::size_t rows = 0;
        while (!text.empty()) {
            const std::string line = text.substr(0, text.find('\n') + 1);
            const std::size_t more = rows_of(line.substr(0, line.size() - 1), columns());
            if (setting_.screen && rows > 0 && rows + more >= setting_.screen->rows) {
                write("-- Enter for more --");
                const std::string typed = typed_line();
                if (!typed.empty()) return typed;
                if (takes_escapes()) write("\x1b[A\r\x1b[K");
                rows = 0;
            }
            write(line);
            rows += more;
            text.erase(0, line.size());
        }
        return {};
    }

    /// Reads a line from the user; the end of the input leaves the tour.
    std::string typed_line() const {
        const auto typed = setting_.read();
        if (!typed) write("\n");
        return typed ? std::string(attn::trimmed(*typed)) : "q";
    }

    void show_page(const TourPage& page) {
        const TourFiles files(page);
        page_text_ += text_of(page, files);
        if (setting_.screen) return ask(page, files);
        write_page();
        const std::size_t shown = number_;
        if (const auto typed = setting_.read(); typed && !attn::trimmed(*typed).empty()) {
            write("> " + attn::visible(*typed) + "\n");
            perform(page, files, std::string(attn::trimmed(*typed)));
        }
        if (!is_left_ && number_ == shown) ++number_;
        write("\n");
    }

    /// Shows the page and reads lines until another one is requested.
    void ask(const TourPage& page, const TourFiles& files) {
        if (takes_escapes()) write("\x1b[H\x1b[2J");
        std::string typed = write_page();
        if (typed.empty()) write("Answer or command, Enter: next, b: back, ?: answer, q: end ");
        const std::size_t shown = number_;
        while (number_ == shown && !is_left_) {
            if (typed.empty()) {
                write("> ");
                typed = typed_line();
            }
            perform(page, files, std::exchange(typed, {}));
        }
    }

    void perform(const TourPage& page, const TourFiles& files, const std::string& line) {
        if (line.empty()) {
            ++number_;
        } else if (line == "q" || line == "quit") {
            is_left_ = true;
        } else if (line == "b" || line == "back") {
            if (number_ > 0) --number_;
        } else if (const auto words = command_in(line); !words.empty()) {
            run_typed(files, words);
        } else {
            judge(answer_of(page), files, line);
        }
    }

    void run_typed(const TourFiles& files, const std::vector<std::string>& words) {
        std::optional<KeptOutput> kept;
        if (!setting_.screen) kept.emplace();
        try {
            files.run(words, false);
            if (kept) write(kept->text);
        } catch (const ClosedPipe&) {
            if (!setting_.screen) throw;  // otherwise the user quit the pager
        } catch (const attn::Error& error) {
            report_error(error.what());
        }
    }

    void judge(const TourAnswer& answer, const TourFiles& files, const std::string& line) {
        using Is = attn::Judgement::Is;
        if (line == "?") {
            print_text("It is " + answer.text + ".");
            if (answer.shown_by.empty()) return;
            std::vector<std::string> words{"attn-explain"};
            words.insert(words.end(), answer.shown_by.begin(), answer.shown_by.end());
            return run_typed(files, words);
        }
        const attn::Judgement verdict = attn::check_answer(answer.right, line);
        tried_.insert(number_);
        if (verdict.is == Is::right) {
            right_.insert(number_);
            print_text("Right: " + answer.text + ".");
        } else if (verdict.is == Is::unread) {
            print_text("This cannot be read: " + verdict.advice + ".");
        } else {
            print_text(setting_.screen ? "No. Try again, or ? for the answer."
                                       : "No: it is " + answer.text + ".");
        }
    }

    const TourSetting& setting_;
    const TourDocument& document_ = tour_document();
    std::size_t number_ = 0;  ///< of the current page, from 0
    bool is_left_ = false;
    std::string page_text_;  ///< text not written yet
    std::set<std::size_t> tried_, right_;
};

}  // namespace

void make_tour(const TourSetting& setting) { Tour(setting).make(); }

std::string tour_handout(std::size_t first, const std::string& format) {
    const TourDocument& document = tour_document();
    const attn::Paper& paper = attn::paper(format);
    const auto paragraph = [&](const std::string& words) {
        std::string text;
        bool is_code = false;
        for (const char c : format == "html" ? attn::xml_text(words) : words) {
            const bool is_mark = c == '`' && format == "html";
            if (is_mark) is_code = !is_code;
            text += is_mark ? is_code ? "<code>" : "</code>" : std::string(1, c);
        }
        return paper.put(paper.paragraph, text);
    };
    const std::string title = "A tour of attention";
    std::string text = paper.put(paper.head, title);
    std::string answers = paper.put(paper.section, "Answers");
    if (first == 1) text += paragraph(document.begin.blocks.at(0).text);
    for (std::size_t number = first; number <= document.pages.size(); ++number) {
        const TourPage& page = document.pages[number - 1];
        const TourFiles files(page);
        const std::string place = std::to_string(number) + ". ";
        text += paper.put(paper.section, paper.lines(place + page.question));
        std::string lines;  // of consecutive commands
        for (const TourPage::Block& block : page.blocks) {
            if (block.is_command) {
                KeptOutput kept;
                files.run(shell_words(block.text), true);
                lines += folded("$ " + block.text, 80) + kept.text;
                if (&block != &page.blocks.back() && (&block + 1)->is_command) continue;
                lines.pop_back();
                text += paper.block_of(std::exchange(lines, {}));
            } else {
                text += paragraph(block.text);
            }
        }
        const TourAnswer answer = answer_of(page);
        const std::string shown = " (`attn-explain " + shell_text(answer.shown_by) + "`)";
        answers += paragraph(place + answer.text + (answer.shown_by.empty() ? "" : shown));
        text += paper.end;
    }
    text += answers + paper.end + paper.put(paper.section, document.end.question);
    text += paragraph(document.end.blocks.at(0).text) + paper.end;
    if (format != "html") return text + paper.tail;
    const std::string from = first == 1 ? "" : " " + std::to_string(first);
    return attn::text_page(title, "attn-explain tour" + from + " -o tour.html", text);
}

}  // namespace app
