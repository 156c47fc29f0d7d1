// The quiz as users see it: in a pipe, from a file, on paper.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/terminal.hpp"

using program::check_refused;
using program::Folder;
using program::has;
using program::run;
using program::shell;

TEST_SUITE("app: quiz") {
    TEST_CASE("answers can come from a pipe, and the score is at the end") {
        const auto list =
            nlohmann::json::parse(run("quiz --topic softmax --seed 12 --count 6 --json").out);
        std::string answers = "# from a file\n";
        for (const auto& each : list) {
            const std::string answer = each["answer"];
            // `0.25`, `0.6667, 2/3` and `b) 0.25`
            answers += has(answer, ")") ? answer.substr(0, 1) : answer.substr(0, answer.find(','));
            answers += "\n";
        }
        const auto all = run("quiz --topic softmax --seed 12 --count 6", answers);
        CHECK(all.exit_code == 0);
        CHECK(all.err.empty());
        CHECK_MESSAGE(has(all.out, "6 of 6 right"), all.out);
        CHECK(has(all.out, "exp("));
        CHECK(!has(all.out, "\x1b"));
        // A hint does not change the score, and input that ends early is not an error.
        const auto some =
            run("quiz --topic softmax --seed 12 --count 6", "\n\nskip\n7\nno number\n");
        CHECK(some.exit_code == 0);
        CHECK_MESSAGE(has(some.out, "0 of 3 right"), some.out);
        CHECK(has(some.out, "hint: it is "));
        CHECK(has(some.out, "--topic softmax --seed 12"));
        CHECK(has(run("quiz --seed 1", "").out, "0 of 0 right"));
        CHECK(has(run("quiz --seed 1", "q\n").out, "0 of 0 right"));
        // Without a seed it prints one that repeats the questions.
        const std::string first = run("quiz --count 1", "skip\n").out;
        const std::size_t from = first.rfind("attn-explain quiz");
        const std::string again = first.substr(from, first.find('\n', from) - from);
        CHECK(shell(again + " --count 1", "skip\n").out == first);
        CHECK(first != run("quiz --count 1", "skip\n").out);
    }

    TEST_CASE("on a terminal the first wrong answer may be tried again") {
        Terminal terminal("attn-explain quiz --topic softmax --seed 12 --count 2");
        const auto answer = [&](const std::string& typed, const std::string& expected) {
            terminal.type(typed);
            terminal.press("Enter");
            return terminal.wait_for(expected);
        };
        terminal.wait_for("1 of 2, softmax");
        answer("0.6", "Not 0.6. Try again, or ? for the answer.");
        answer("0.2", "Right: 0.2");
        terminal.wait_for("2 of 2, softmax");
        answer("7", "Not 7. Try again, or ? for the answer.");
        CHECK(has(answer("8", "[ended]"), "Not 8: it is 1\n"));
        CHECK(has(terminal.screen(), "1 of 2 right."));
    }

    TEST_CASE("every answer that it prints is right if typed") {
        const auto list = nlohmann::json::parse(run("quiz --seed 59 --count 60 --json").out);
        std::string answers;
        for (const auto& each : list) answers += each["answer"].get<std::string>() + "\n";
        const std::string all = run("quiz --seed 59 --count 60", answers).out;
        CHECK_MESSAGE(has(all, "60 of 60 right"), all);
    }

    TEST_CASE("a wrong rule leaves no trace of how it was made") {
        const auto list =
            nlohmann::json::parse(run("quiz --topic rule --seed 5 --count 60 --json").out);
        for (const auto& each : list) {
            for (const auto& line : each["shown"]) {
                INFO(line);
                CHECK(!has(line.get<std::string>() + " ", "+ 0 "));
                if (each["choices"].empty()) CHECK(!has(line.get<std::string>(), "(max "));
            }
            for (const auto& choice : each["choices"]) {
                const auto text = choice["text"].get<std::string>();
                INFO(text);
                const bool is_softmax = text.starts_with("weights") && has(text, "exp(");
                if (is_softmax) CHECK(has(text, "row_max["));
            }
        }
    }

    TEST_CASE("a known mistake is named") {
        const auto list =
            nlohmann::json::parse(run("quiz --topic scale --seed 2 --count 8 --json").out);
        std::string answers;
        for (const auto& each : list) {
            if (each["choices"].empty()) {
                answers += "skip\n";
                continue;
            }
            for (std::size_t i = 0; i < each["choices"].size(); ++i) {
                if (each["choices"][i]["mistake"] == "") continue;
                answers += std::string(1, static_cast<char>('a' + i)) + "\n";
                break;
            }
        }
        const auto printed = run("quiz --topic scale --seed 2 --count 8", answers);
        CHECK(has(printed.out, "This mistake gives that answer"));
        CHECK(has(printed.out, "attn-explain bugs "));
    }

    TEST_CASE("a seed gives the same sheets, and they hold no answer") {
        const Folder folder;
        for (const std::string format : {"markdown", "html", "latex", "ipynb", "text"}) {
            INFO(format);
            const std::string flags = "quiz --sheet 22 --seed 9 --format " + format;
            const auto sheet = run(flags + " --solutions '" + (folder / ("key-" + format)) + "'");
            REQUIRE(sheet.exit_code == 0);
            CHECK(sheet.out == run(flags).out);
            CHECK(sheet.out != run("quiz --sheet 22 --seed 10 --format " + format).out);
            const std::string key = program::read_file(folder / ("key-" + format));
            CHECK(has(key, "seed 9"));
            for (const char* printed : {"Answer: 0.", "Answer: a", "Answer: b", "   sum"}) {
                CHECK_MESSAGE(!has(sheet.out, printed), printed);
            }
            CHECK(has(key, "   sum"));
            CHECK(has(key, "Answer: "));
        }
        const auto page = run("quiz --sheet 11 --format html").out;
        CHECK(!has(page, "http:"));
        CHECK(!has(page, "https:"));
        CHECK(!has(page, " src="));
        CHECK(!has(page, "\\n"));
        CHECK(has(run("quiz --sheet 11 --topic rule --format latex").out, "\\end{document}"));
    }

    TEST_CASE("levels go from what is learned first to what is learned last") {
        std::set<std::string> topics;
        for (const std::string level : {"1", "2", "3"}) {
            const std::size_t before = topics.size();
            const auto list =
                nlohmann::json::parse(run("quiz --level " + level + " --count 12 --json").out);
            for (const auto& each : list) topics.insert(each["topic"]);
            CHECK(topics.size() == before + 4);  // no topic has two levels
        }
        CHECK(has(run("quiz --level 2 --seed 1", "q\n").out, "quiz --level 2 --seed 1"));
        CHECK(has(run("quiz --sheet 4 --level 3").out, "## 1. gradient"));
    }

    TEST_CASE(
        "a sheet has lines for name and date, and its key names the mistake behind a wrong "
        "choice") {
        for (const std::string format : {"markdown", "html", "latex", "text"}) {
            INFO(format);
            const Folder folder;
            const std::string key = folder / "key";
            const std::string sheet =
                run("quiz --sheet 6 --topic softmax --format " + format + " --solutions " + key)
                    .out;
            CHECK(has(sheet, "Name: "));
            CHECK(has(sheet, "Date: "));
            CHECK(!has(sheet, "attn-explain bugs"));
            const std::string answers = program::read_file(key);
            CHECK(!has(answers, "Name: "));
            CHECK(has(answers, "If you chose "));
        }
    }

    TEST_CASE("a sheet fits on paper: lines, rows of tensors, and questions stay on one page") {
        for (const std::string format : {"markdown", "text"}) {
            const Folder folder;
            const std::string flags = "quiz --sheet 66 --seed 5 --format " + format;
            const std::string sheet = run(flags + " --solutions '" + (folder / "key") + "'").out;
            for (const std::string& text : {sheet, program::read_file(folder / "key")}) {
                std::istringstream lines(text);
                for (std::string line; std::getline(lines, line);) {
                    // No line is wide, none is read as a Markdown list, and rows are whole.
                    CHECK_MESSAGE(line.size() <= 100, line);
                    CHECK_MESSAGE(!line.starts_with("- "), line);
                    CHECK_MESSAGE(!line.starts_with("+ "), line);
                    const bool goes_on = line.find(" = [[") != line.npos && !line.ends_with("]]");
                    if (goes_on) CHECK_MESSAGE(line.ends_with("],"), line);
                }
            }
        }
        const std::string page = run("quiz --sheet 4 --format html").out;
        CHECK(has(page, "section{break-inside:avoid}"));
        std::size_t sections = 0;
        for (std::size_t at = 0; (at = page.find("<section>\n<h2>", at)) != page.npos; ++at) {
            CHECK(page.find("</label></p>\n</section>\n", at) < page.find("<section>", at + 1));
            ++sections;
        }
        CHECK(sections == 4);
        const Folder folder;
        REQUIRE(run("quiz --sheet 3 -o '" + (folder / "s.txt") + "' --solutions '" +
                    (folder / "k.txt") + "'")
                    .exit_code == 0);
        CHECK(has(program::read_file(folder / "s.txt"), "Attention\n\nName: ____"));
        CHECK(has(program::read_file(folder / "k.txt"), "Answer: "));
        REQUIRE(run("quiz --sheet 1 --students 3 -o '" + (folder / "t.md") + "'").exit_code == 0);
        CHECK(std::filesystem::exists(folder / "t-03.md"));
    }

    TEST_CASE("a question states every setting that its answer depends on") {
        const auto list = nlohmann::json::parse(run("quiz --count 660 --seed 77 --json").out);
        for (const auto& each : list) {
            const std::string asks = each["question"], topic = each["topic"];
            INFO(asks);
            std::string all = asks;
            for (const std::string line : each["shown"]) all += line;
            CHECK(!has(all, "-nan"));
            if (topic == "rule" || topic == "mistake")
                CHECK(has(asks, "There is 1 head with 2 features."));
            const std::string flags = each["flags"];
            const auto mentions = [&](const char* flag, const char* words) {
                if (has(flags, flag)) CHECK_MESSAGE(has(asks, words), flags);
            };
            mentions("--past", " earlier tokens.");
            mentions("--mask causal", "mask is causal");
            mentions("window:", "sliding window of ");
            mentions("chunk:", "chunks of ");
            mentions("prefix:", "prefix of ");
            mentions("--rope ", "positions begin at 0");
            mentions("--kv-heads", "key and value heads");
            mentions("--heads", has(flags, "--heads 1") ? " 1 head" : " heads");
            mentions("--head-dim", "Each head has ");
            mentions("--batch", "The batch size is ");
            mentions("--backward", "The loss is ");
        }
    }

    TEST_CASE("a state after three tokens is what a loop over them gives") {
        const auto list =
            nlohmann::json::parse(run("quiz --topic recurrence --count 20 --seed 9 --json").out);
        std::size_t states = 0;
        for (const auto& each : list) {
            const std::string cell = each["cell"];
            if (!cell.starts_with("state[0,2,")) continue;
            ++states;
            const auto numbers = [&](const char* name) {
                return each["given"][name]["numbers"].get<std::vector<double>>();
            };
            const std::vector<double> key = numbers("key"), value = numbers("value");
            const auto f = static_cast<std::size_t>(cell[10] - '0');
            const auto g = static_cast<std::size_t>(cell[12] - '0');
            double state = 0;
            for (std::size_t t = 0; t < 3; ++t) {
                state = 31 * state / 32 + key[2 * t + f] * value[2 * t + g];
            }
            CHECK_MESSAGE(std::abs(each["number"].get<double>() - state) < 1e-12, each.dump());
        }
        CHECK(states == 10);
    }

    TEST_CASE("hint and help print hints, and a number is not a position in a list") {
        for (const std::string word : {"", "hint", "Help", "help"}) {
            const auto printed = run("quiz --seed 1 --topic scale --count 1", word + "\nskip\n");
            CHECK_MESSAGE(has(printed.out, "hint: it is "), word);
        }
        const auto half = run("quiz --topic rope --seed 1 --count 1", ".5\n");
        CHECK_MESSAGE(has(half.out, "Right: "), half.out);
    }

    TEST_CASE("the cells of a notebook run") {
        if (!program::is_installed("/usr/bin/python3")) return;
        const std::string sheet = run("quiz --sheet 44 --seed 4 --format ipynb").out;
        const auto ran = shell(
            "/usr/bin/python3 -c 'import json, sys\n"
            "n = json.load(sys.stdin)\nassert n[\"nbformat\"] == 4\nspace = {}\n"
            "for c in n[\"cells\"]:\n"
            "    if c[\"cell_type\"] == \"code\": exec(\"\".join(c[\"source\"]), space)\n"
            "print(sorted(space))'",
            sheet);
        CHECK_MESSAGE(ran.exit_code == 0, ran.err);
        CHECK(has(ran.out, "weights"));
    }

    TEST_CASE("a class gets one file each, all or none") {
        const Folder folder;
        const std::string to = "' --solutions '" + (folder / "key.md") + "'";
        REQUIRE(run("quiz --sheet 3 --students 12 -o '" + (folder / "work.tex") + to).exit_code ==
                0);
        const std::string first = program::read_file(folder / "work-01.tex");
        CHECK(has(first, "\\documentclass"));
        CHECK(first != program::read_file(folder / "work-12.tex"));
        CHECK(has(program::read_file(folder / "key-12.md"), "# Attention, sheet 12, answers"));
        CHECK(
            run("quiz --sheet 3 --students 12 -o '" + (folder / "none/work.md") + "'").exit_code ==
            2);
        std::filesystem::create_directory(folder / "class");
        check_refused("quiz --sheet 3 --students 2 -o '" + (folder / "none/") + "'",
                      "none/sheet-01.md: cannot create");
        REQUIRE(run("quiz --sheet 2 --students 2 --format html -o '" + (folder / "class") +
                    "' --solutions '" + (folder / "class") + "/key.md'")
                    .exit_code == 0);
        CHECK(has(program::read_file(folder / "class/sheet-02.html"), "<!doctype html>"));
        CHECK(has(program::read_file(folder / "class/key-02.md"), "# Attention"));
        CHECK(run("quiz --sheet 3 --students 3 -o '" + (folder / "again.md") + "' --solutions '" +
                  (folder / "none/key.md") + "'")
                  .exit_code == 2);
        CHECK(!std::filesystem::exists(folder / "again-01.md"));
    }

    TEST_CASE("a senseless request is refused in one line") {
        check_refused("quiz --topic sinks", "--topic");
        CHECK(has(run("quiz --sheet 3 --count 4").err, "--count has no effect"));
    }

    TEST_CASE(
        "--from asks about given numbers, and runs the walk with numbers that are constructed") {
        const Folder folder;
        const std::string path = folder / "own.json";
        std::ofstream(path)
            << R"({"query": [[1,0],[0,1]], "key": [[1,2],[2,0]], "value": [[1,0],[0,1]]})";
        const std::string quiz = "quiz --from '" + path + "' --seed 3 --count 1 ";
        const auto requested = run(quiz + "--topic construct --json");
        const auto question = nlohmann::json::parse(requested.out)[0];
        const bool is_first = has(question["cell"], ",0]");
        CHECK(has(question["question"], "Set the query of"));
        // Key 0 points along (1, 2), key 1 along (2, 0).
        const std::string right = is_first ? "[0, 3]" : "[3, 0]", wrong = is_first ? "3 0" : "0 3";
        CHECK(has(run(quiz + "--topic construct", right + "\n").out, "1 of 1 right"));
        CHECK(has(run(quiz + "--topic construct", wrong + "\n").out, "0 of 1 right"));
        CHECK(has(run(quiz + "--topic construct", "1\n").out, "write 2 numbers, row by row"));
        CHECK(has(run(quiz + "--topic scores", "skip\n").out, "query = [[1, 0], [0, 1]]"));
        check_refused(quiz + "--topic rope", "rope is not a step of this walk");
    }
}
