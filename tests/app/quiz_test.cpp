// The quiz as a person meets it: in a pipe, from a file, on paper.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::has;
using program::run;
using program::shell;

TEST_SUITE("app: quiz") {
    TEST_CASE("answers come from a pipe, and the score stands at the end") {
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
        // A hint takes no answer away, and an end without answers is no error.
        const auto some =
            run("quiz --topic softmax --seed 12 --count 6", "\n\nskip\n7\nno number\n");
        CHECK(some.exit_code == 0);
        CHECK_MESSAGE(has(some.out, "0 of 3 right"), some.out);
        CHECK(has(some.out, "hint: it is "));
        CHECK(has(some.out, "--topic softmax --seed 12"));
        CHECK(has(run("quiz --seed 1", "").out, "0 of 0 right"));
        CHECK(has(run("quiz --seed 1", "q\n").out, "0 of 0 right"));
        // Without a seed it says one that asks the same again.
        const std::string first = run("quiz --count 1", "skip\n").out;
        const std::string again = first.substr(first.rfind("attn-explain quiz"));
        CHECK(shell(again.substr(0, again.size() - 1) + " --count 1", "skip\n").out == first);
        CHECK(first != run("quiz --count 1", "skip\n").out);
    }

    TEST_CASE("a mistake that is known is named") {
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
        const auto told = run("quiz --topic scale --seed 2 --count 8", answers);
        CHECK(has(told.out, "comes out of a mistake"));
        CHECK(has(told.out, "attn-explain bugs "));
    }

    TEST_CASE("sheets are the same for a seed, and hold no answer") {
        const Folder folder;
        for (const std::string format : {"markdown", "html", "latex", "ipynb"}) {
            INFO(format);
            const std::string flags = "quiz --sheet 22 --seed 9 --format " + format;
            const auto sheet = run(flags + " --solutions '" + (folder / ("key-" + format)) + "'");
            REQUIRE(sheet.exit_code == 0);
            CHECK(sheet.out == run(flags).out);
            CHECK(sheet.out != run("quiz --sheet 22 --seed 10 --format " + format).out);
            const std::string key = program::read_file(folder / ("key-" + format));
            CHECK(has(key, "seed 9"));
            for (const char* told : {"Answer: 0.", "Answer: a", "Answer: b", "together"}) {
                CHECK_MESSAGE(!has(sheet.out, told), told);
            }
            CHECK(has(key, "together"));
            CHECK(has(key, "Answer: "));
        }
        const auto page = run("quiz --sheet 11 --format html").out;
        CHECK(!has(page, "http"));
        CHECK(!has(page, "<script"));
        CHECK(!has(page, "\\n"));
        CHECK(has(run("quiz --sheet 11 --topic rule --format latex").out, "\\end{document}"));
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

    TEST_CASE("a class has a file each, whole or none") {
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
                      "none/sheet-1.md: cannot create");
        REQUIRE(run("quiz --sheet 2 --students 2 --format html -o '" + (folder / "class") +
                    "' --solutions '" + (folder / "class") + "/key.md'")
                    .exit_code == 0);
        CHECK(has(program::read_file(folder / "class/sheet-2.html"), "<!doctype html>"));
        CHECK(has(program::read_file(folder / "class/key-2.md"), "# Attention"));
        CHECK(run("quiz --sheet 3 --students 3 -o '" + (folder / "again.md") + "' --solutions '" +
                  (folder / "none/key.md") + "'")
                  .exit_code == 2);
        CHECK(!std::filesystem::exists(folder / "again-1.md"));
    }

    TEST_CASE("what makes no sense is refused in a line") {
        check_refused("quiz --topic sinks", "--topic");
        check_refused("quiz --sheet 3 --students 4", "-o sheet.md");
        check_refused("quiz -o sheet.md", "--sheet");
        check_refused("quiz --sheet 3 --solutions -", "is no file");
        CHECK(has(run("quiz --sheet 3 --count 4").err, "--count has no effect"));
        check_refused("quiz --sheet 3 -o sheet.md --format html", "leave --format out");
        check_refused("quiz --sheet 0", "--sheet");
        check_refused("quiz --sheet 3 -o sheet.docx", "");
        check_refused("quiz --count many", "--count");
    }
}
