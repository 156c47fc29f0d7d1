#include <unistd.h>

#include <iostream>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/reference/reference.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/tour/tour.hpp"

namespace app {
namespace {

std::string list_of_pages(const Arguments& arguments) {
    std::string text;
    std::size_t number = 0;
    for (const TourPage& page : tour_document().pages) {
        text += list_entry(arguments, "  " + std::to_string(++number), 6, page.question);
    }
    return text;
}

std::vector<std::string> page_numbers() {
    std::vector<std::string> all;
    while (all.size() < tour_document().pages.size()) all.push_back(std::to_string(all.size() + 1));
    return all;
}

/// Returns the page to begin with, by its number or by a term: `11`, `masks`.
/// Errors  ConfigError if there is no such page.
std::size_t first_page(const std::string& value) {
    const std::string on_word = page_on(value);
    const std::string page = on_word.empty() ? value : on_word;
    if (page.find_first_of("0123456789") == page.npos) {
        throw attn::ConfigError("no page is about '" + value +
                                "': attn-explain tour --list lists them");
    }
    const auto last = static_cast<std::int64_t>(tour_document().pages.size());
    return static_cast<std::size_t>(parse_integer(flags::page.text, page, 1, last));
}

std::vector<Flag> tour_flags() {
    return {{flags::page, "PAGE", "the page to begin with: its number, or a word such as masks",
             such_as(page_numbers), "1"},
            {flags::list, "", "list the questions of the tour with their numbers"},
            output_flag({".txt", ".md", ".html"})};
}

int run_tour(const Arguments& arguments) {
    if (arguments.has(flags::list)) {
        write_text(arguments, list_of_pages(arguments));
        return 0;
    }
    const std::string ending = ending_of(arguments[flags::output]);
    if (ending == ".md" || ending == ".html") {
        std::string pages;
        {
            const KeptOutput kept(false);
            pages = tour_handout(first_page(arguments[flags::page]),
                                 ending == ".md" ? "markdown" : "html");
        }
        write_text(arguments, pages);
        return 0;
    }
    TourSetting setting;
    setting.first = first_page(arguments[flags::page]);
    setting.ink = ink_of(arguments);
    const bool reads = isatty(STDIN_FILENO) == 0;
    setting.read = [&]() -> std::optional<std::string> {
        std::string line;
        if (!(reads || setting.screen) || !std::getline(std::cin, line)) return std::nullopt;
        return line;
    };
    if (!reads && is_to_terminal(arguments)) {
        setting.screen = terminal_size(STDOUT_FILENO).value_or(TerminalSize{24, 80});
        setting.write = StandardOutput::print;
        make_tour(setting);
        return 0;
    }
    // Without a terminal, write all pages as one text.
    std::string pages;
    setting.write = [&](const std::string& text) { pages += text; };
    {
        const KeptOutput kept(is_to_terminal(arguments));
        make_tour(setting);
    }
    write_text(arguments, pages);
    return 0;
}

}  // namespace

Command tour_command() {
    return {"tour",
            "twenty-five questions about attention, with commands that answer them and exercises",
            {table<tour_flags>, color_flags},
            run_tour,
            {{"attn-explain tour", "Starts; Enter continues, q quits."},
             {"attn-explain tour 7", "Continues from the seventh page."},
             {"attn-explain tour -o tour.html", "The pages to print, with their answers."}}};
}

}  // namespace app
