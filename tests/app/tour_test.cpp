// The tour: every page of app/tour.md is run, answered and shown on screens of two sizes.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/terminal.hpp"

using program::has;
using program::lines_of;
using program::run;
using program::shell;

namespace {

constexpr int tour_pages = 25;

/// The commands of the document, in their order: those of the shell blocks.
std::vector<std::string> commands_of(const std::string& document) {
    std::vector<std::string> commands;
    bool inside = false;
    for (const std::string& line : lines_of(document)) {
        if (line.starts_with("```")) {
            inside = line == "```sh";
        } else if (inside) {
            commands.push_back(line);
        }
    }
    return commands;
}

const std::string document = program::read_file(ATTN_SOURCE_DIR "/app/tour.md");

/// The tour with these lines as answers, split into its pages.
std::vector<std::string> pages_of(const std::string& answers) {
    const program::Result result = run("tour", answers);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    std::vector<std::string> cut;
    for (const std::string& line : lines_of(result.out)) {
        if (has(line, " of 25. ")) cut.emplace_back();
        if (!cut.empty()) cut.back() += line + "\n";
    }
    REQUIRE(cut.size() == tour_pages);
    return cut;
}

/// The reply after the line that was typed.
std::string reply_in(const std::string& page) {
    const std::size_t typed = page.find("\n> ");
    REQUIRE(typed != std::string::npos);
    const std::size_t begin = page.find('\n', typed + 1) + 1;
    return page.substr(begin, page.find('\n', begin) - begin);
}

std::string repeated(const std::string& line) {
    std::string text;
    for (int i = 0; i < tour_pages; ++i) text += line + "\n";
    return text;
}

/// `0.25` or `eat` in "It is 'eat'.".
std::string answer_in(const std::string& page) {
    const std::string reply = reply_in(page);
    REQUIRE_MESSAGE(reply.starts_with("It is "), reply);
    std::string answer = reply.substr(6, reply.size() - 7);
    std::erase(answer, '\'');
    return answer;
}

}  // namespace

TEST_SUITE("app: tour") {
    TEST_CASE("the pages are those of the document, with the output of its commands") {
        std::string printed;
        for (const std::string& line : lines_of(run("tour").out)) {
            // Long commands are wrapped before a flag.
            const bool goes_on = line.ends_with(" \\");
            printed += goes_on ? line.substr(0, line.size() - 1) : line + "\n";
            if (goes_on) printed += "\x01";
        }
        for (std::size_t at = 0; (at = printed.find("\x01    ", at)) != std::string::npos;) {
            printed.erase(at, 5);
        }
        std::size_t at = 0;
        const std::vector<std::string> commands = commands_of(document);
        CHECK(commands.size() >= tour_pages);
        const program::Folder folder;
        for (const std::string& command : commands) {
            INFO(command);
            const std::string there = "cd '" + folder.path().string() + "' && " + command;
            const program::Result result = shell(there);
            CHECK(result.exit_code < 2);
            CHECK(result.err.empty());
            at = printed.find("$ " + command + "\n" + result.out, at);
            REQUIRE(at != std::string::npos);
        }
        for (const std::string& line : lines_of(document)) {
            if (!line.starts_with("## ")) continue;
            CHECK(has(printed,
                      line.substr(line.find(". ") == std::string::npos ? 3 : line.find(". ") + 2)));
        }
    }

    TEST_CASE("each page has an exercise; its answer is right, and another one is wrong") {
        std::string right;
        std::string wrong;
        for (const std::string& page : pages_of(repeated("?"))) {
            INFO(page);
            CHECK(has(page, "\nTry: "));
            const std::string answer = answer_in(page);
            const bool is_number = answer.find_first_not_of("0123456789.-") == std::string::npos;
            right += answer + "\n";
            wrong += (is_number ? std::to_string(std::stod(answer) + 0.01) : "the") + "\n";
            // The answer can be found by typing the commands, without knowing it.
            CHECK((has(page, "\n  = ") || answer == "4" || answer == "16"));
        }
        for (const std::string& page : pages_of(right)) {
            CHECK_MESSAGE(reply_in(page).starts_with("Right: "), page);
        }
        CHECK(has(run("tour", right).out, "You answered 25 of 25 questions."));
        for (const std::string& page : pages_of(wrong)) {
            const std::string reply = reply_in(page);
            CHECK_MESSAGE((reply.starts_with("No: it is ") || has(reply, "cannot be read")), page);
        }
        const std::vector<std::string> other = pages_of(repeated("home"));
        CHECK(reply_in(other[4]) == "No: it is 'dog'.");
        // A number is not a word, whatever its value, and reveals nothing.
        for (const char* number : {"0", "1", "2", "6"}) {
            const std::string printed = run("tour 10", std::string(number) + "\nq\n").out;
            CHECK(has(printed, "This cannot be read: write one of big, dog, home, ran, the."));
        }
    }

    TEST_CASE("the answers are those of a second engine") {
        // The answers of tests/check_tour.py: PyTorch and NumPy, from the draws and the model's
        // file.
        const std::vector<std::string> wanted{
            "-0.1145", "1.1955", "0.6667",  "8",      "dog",   "64",     "0.2500", "16", "4",
            "dog",     "ran",    "-0.0485", "4",      "chat",  "0.1814", "16",     "4",  "1.1830",
            "upon",    "0.3637", "0.6488",  "0.0892", "short", "0.9917", "0.9269"};
        const std::vector<std::string> pages = pages_of(repeated("?"));
        REQUIRE(wanted.size() == pages.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            INFO(pages[i]);
            CHECK(answer_in(pages[i]) == wanted[i]);
        }
    }

    TEST_CASE("the answers are those of the walks, in other spellings too") {
        for (const auto& [page, line] : std::map<int, std::string>{{5, "DOG"},
                                                                   {8, "sqrt(256)"},
                                                                   {7, "25%"},
                                                                   {10, "'dog'"},
                                                                   {13, "4.0"},
                                                                   {14, "Chat"},
                                                                   {24, ".99"}}) {
            INFO(page << ": " << line);
            const std::string printed = run("tour " + std::to_string(page), line + "\nq\n").out;
            CHECK(has(printed, "> " + line + "\nRight: "));
            CHECK(has(printed, "attn-explain tour " + std::to_string(page + 1) + " continues"));
        }
    }

    TEST_CASE("a command can be run instead of an answer, in the folder with the page's files") {
        const std::string printed = run("tour 24", "diagnose mine.npz --json\nb\nq\n").out;
        CHECK(has(printed, "> diagnose mine.npz --json\n{"));
        CHECK(has(printed, "\"softmax-axis=query\""));
        CHECK(has(printed, "> b\n\n24 of 25. "));
        CHECK(has(run("tour 24", "--nonsense\nq\n").err, "error: there is no flag --nonsense"));
        CHECK(!std::filesystem::exists(ATTN_SOURCE_DIR "/mine.npz"));
    }

    TEST_CASE("every screen fits a terminal, and is read with Enter on a small one") {
        Terminal terminal("attn-explain tour");
        for (int page = 1; page <= tour_pages; ++page) {
            INFO(page);
            const std::string begin = std::to_string(page) + " of 25. ";
            terminal.wait_for(begin);  // the page before it has the same last line
            const std::string screen = terminal.wait_for("q: end >");
            CHECK(screen.starts_with(begin));
            CHECK(has(screen, "\nTry: "));
            terminal.press("Enter");
        }
        terminal.wait_for("[ended]");

        Terminal small("attn-explain tour 19", 40, 12);
        std::string seen = small.wait_for("19 of 25. ");
        CHECK(has(seen, "\n-- Enter for more --"));
        for (std::string screen = seen; has(screen, "for more --") && seen.size() < 10'000;) {
            small.press("Enter");
            const std::string before = screen;
            while (screen == before) screen = small.wait_for(" ");
            seen += screen;
        }
        // Rows of numbers are broken between numbers.
        CHECK(has(seen, "\ntensor([[    1.0000,     0.0000,\n"));
        for (const std::string part : {" 0.8367,", "\nTry: ", "q: end >"}) {
            CHECK_MESSAGE(has(seen, part), part);
        }
        small.press("Enter");
        small.wait_for("20 of 25. ");
        small.type("b");
        small.press("Enter");
        small.wait_for("19 of 25. ");
    }

    TEST_CASE("a reader can go back, hears of a wrong answer, leaves and resumes") {
        for (const std::string setting : {"", "NO_COLOR=1", "TERM=dumb"}) {
            INFO(setting);
            Terminal terminal(setting + " attn-explain tour 2");
            terminal.wait_for("2 of 25. ");
            terminal.type("b");
            terminal.press("Enter");
            terminal.wait_for("1 of 25. ");
            terminal.type("0.55");
            terminal.press("Enter");
            terminal.wait_for("No. Try again, or ? for the answer.");
            terminal.type("--only ids -q");
            terminal.press("Enter");
            terminal.wait_for("> --only ids -q\ntensor([5, 4, 6, 2, 1, 3])\n>");
            terminal.type("q");
            terminal.press("Enter");
            const std::string end = terminal.wait_for("[ended]");
            CHECK(has(end, "attn-explain tour 1 continues from here.\n[ended]"));
        }
        Terminal interrupted(
            "trap : INT; TMPDIR=$(mktemp -d) && export TMPDIR\n"
            "attn-explain tour 24; echo \"left: [$(ls -A $TMPDIR)]\"");
        interrupted.wait_for("q: end >");
        interrupted.press("C-c");
        interrupted.wait_for("left: []");
    }

    TEST_CASE("on paper the pages include their outputs, and the answers come last") {
        const program::Folder folder;
        for (const std::string name : {"tour.md", "tour.html"}) {
            INFO(name);
            const std::string file = folder / name;
            const program::Result written = run("tour -o " + file);
            CHECK(written.exit_code == 0);
            CHECK(written.out.empty());
            const std::string text = program::read_file(file);
            for (const std::string& line : lines_of(document)) {
                if (line.starts_with("## ")) {
                    const bool is_html = name == "tour.html";
                    const std::string requested = is_html ? line.substr(3) : line;
                    CHECK_MESSAGE((has(text, requested) || has(line, "'")), line);
                }
            }
            CHECK(has(text, "tensor([0.0453, 0.1192, 0.2153,   -inf"));
            const std::size_t answers = text.find("Answers");
            CHECK(text.find("Try: ") < answers);
            CHECK(text.find("24. 0.9917 (", answers) < text.find("25. 0.", answers));
            CHECK(text.find("</html>") == (name == "tour.html" ? text.size() - 8 : text.npos));
        }
        const std::string page = program::read_file(folder / "tour.html");
        CHECK(has(page, "starts from the same vector, <code>x</code>"));
        CHECK(has(page, "<pre>$ attn-explain --only ids,x -q\ntensor([5, 4, 6, 2, 1, 3])\n"));
        const std::string printed = page.substr(page.find("<main>"), page.find("</main>"));
        CHECK(!has(printed.substr(0, printed.find("</main>")), "`"));
        CHECK(!has(page, "http:"));
        CHECK(!has(page, "https:"));
        run("tour 23 -o " + (folder / "late.md"));
        CHECK(!has(program::read_file(folder / "late.md"), "\n## 22. "));
        program::check_refused("tour -o t.pdf", "cannot write .pdf");
    }

    TEST_CASE("the list of pages, and a page that does not exist") {
        const std::vector<std::string> list = lines_of(run("tour --list").out);
        REQUIRE(list.size() == tour_pages);
        CHECK(list[12] == "  13  What changes under a causal mask?");
        const program::Result nowhere = shell("TMPDIR=/nowhere attn-explain tour 24");
        CHECK(nowhere.exit_code == 2);
        CHECK(nowhere.err.starts_with("attn-explain: error: /nowhere: no folder for"));
        const program::Folder folder;
        const std::string file = folder / "tour.txt";
        CHECK(run("tour 25 -o " + file).out.empty());
        CHECK(program::read_file(file) == run("tour 25").out);
        CHECK(has(run("tour 25").out, "\nWhere to go from here\n"));
    }

    TEST_CASE("help and the first walk on a terminal mention the tour to a newcomer") {
        CHECK(has(run("-h").out.substr(0, 200), "attn-explain tour"));
        Terminal first("PAGER=cat attn-explain | tail -1; PAGER=cat attn-explain", 80, 24);
        CHECK(has(first.wait_for("[ended]"), "\n# next: attn-explain tour  # "));
        CHECK(!has(run("").out, "attn-explain tour"));
        Terminal shown("attn-explain", 80, 24);
        const std::string screen = shown.wait_for("# is");
        CHECK(has(screen, "# Words and positions: life 0, is 1, short 2, "));
        CHECK(has(screen, "\n# In formulas: t token, q query, k key; c feature of x, "));
        CHECK(has(screen, "0.3146],   # life\n"));
        Terminal other("PAGER=cat attn-explain --seed 3", 80, 24);
        CHECK(!has(other.wait_for("[ended]"), "attn-explain tour"));
    }
}
