#include <doctest/doctest.h>

#include <cmath>

#include "attn/explain/document/document.hpp"
#include "attn/ground/tensor/xtensor.hpp"
#include "tests/support/terminal.hpp"

using program::has;
using program::run;

TEST_SUITE("app: everyday") {
    TEST_CASE("a summary has one line per tensor: range, mean, nan and inf, row sums, entropy") {
        attn::Document document;
        attn::Section section;
        section.name = "weights";
        attn::Array<double> cells = attn::empty_array<double>({4, 2});
        const double values[] = {0.5, 0.5, 1, 0, NAN, NAN, -INFINITY, 0};
        std::copy(std::begin(values), std::end(values), cells.data());
        section.content = attn::Tensor({"query", "key"}, std::move(cells));
        document.sections.push_back(section);
        const std::string text = attn::summary_text(document);
        CHECK(has(text, "weights           4 x 2           float64             0           1"));
        CHECK(has(text,
                  "0.4      0.3742  2 nan; 1 -inf; rows sum to 1, entropy 0.500 of 1.000 bits\n"));
        const program::Result walk = run("--summary --only x,weights --heads 2 --embed-dim 4");
        CHECK(std::count(walk.out.begin(), walk.out.end(), '\n') == 3);
        program::check_refused("--summary --format json", "--summary");
    }

    TEST_CASE("words are indices in --only, and the note on a part describes the part") {
        const std::string row = "'short' attends most to 'is'";
        for (const std::string format : {"torch", "plain", "json", "markdown", "ipynb"}) {
            CAPTURE(format);
            CHECK(has(run("--only 'weights[short]' --format " + format).out,
                      "The largest weight shown is 0.1910: "));
        }
        CHECK(has(run("step --only 'weights[short]'", "q\n").out,
                  "The largest weight shown is 0.1910: "));
        CHECK(run("--text 'a b' --text 'b a' -q --only 'weights[1,b,b]'").out ==
              run("--text 'a b' --text 'b a' -q --only 'weights[1,0,0]'").out);
        program::check_refused("--only 'weights[2]' --figure arcs --format svg -o /dev/null",
                               "a row as weights[2:3]");
    }

    TEST_CASE("the file that a text command writes is in the format of its name") {
        for (const std::string command : {"why 'weights[0,1]'", "lint", "bugs",
                                          "compare loop vectorized", "diagnose --power"}) {
            CAPTURE(command);
            const program::Folder folder;
            const std::string json = folder / "o.json";
            const std::string text = folder / "o.txt";
            run(command + " -o " + json);
            run(command + " -o " + text);
            CHECK(program::read_file(json) == run(command + " --json").out);
            CHECK(program::read_file(text) == run(command).out);
            CHECK(program::read_file(json) != program::read_file(text));
            for (const std::string name : {"o.html", "o.npz", "o.svg", "o.ipynb"}) {
                program::check_refused(command + " -o /nowhere/" + name, name);
            }
            program::check_refused(command + " --json -o /nowhere/o.md",
                                   "use a name that ends in .json");
        }
    }

    TEST_CASE(
        "entries of a list continue below themselves on a terminal, and are one line elsewhere") {
        Terminal terminal("attn-explain --list-steps; attn-explain notebook", 60, 50);
        const std::string screen = terminal.wait_for("[ended]");
        CHECK(has(screen,
                  "w_query           the weight matrix of the query projection\n"
                  "                  (printed with --detail)\n"));
        CHECK(has(screen,
                  "000  padding-heads  two heads cut from one fused projection,\n"
                  "                    over a batch with padding\n"));
        Terminal lint("attn-explain lint --text 'the cat sat the cat'");
        CHECK(
            has(lint.wait_for("[ended]"),
                "warn   no-position            positions 0 and 3 hold the same token and nothing\n"
                "                              encodes position: their rows of x are equal\n"));
    }

    TEST_CASE("text is cut into words, characters or the matches of an expression") {
        const auto first_words = [](const std::string& flags) {
            return run("--only ids -q " + flags).out;
        };
        CHECK(first_words("--text 'ab a' --split chars") == "tensor([2, 3, 1, 2])\n");
        CHECK(first_words("--text 'To be, to' --split '[a-z]+|,'") == "tensor([3, 2, 1, 3])\n");
        CHECK(first_words("--text 'To be to' --keep-case") == "tensor([1, 2, 3])\n");
        CHECK(first_words("--text 'To be to'") == "tensor([2, 1, 2])\n");
        CHECK(first_words("--text '\xEF\xBB\xBF"
                          "a b'") == "tensor([1, 2])\n");
        const std::string han =
            "\xE6\x88\x91\xE6\x83\xB3\xE8\xA6\x81\xE5\x90\x83\xE7\x94\x9C\xE7\x82\xB9";
        CHECK(has(run("--only ids -q --text " + han).err, "--split chars"));
        const std::string ids = first_words("--split chars --text " + han);
        CHECK(std::count(ids.begin(), ids.end(), ',') == 5);
        CHECK(has(run("--ids 1,2 --keep-case").err, "--keep-case has no effect here"));
        CHECK(first_words("--split '.*' --text '" + std::string(5000, 'a') + "'") ==
              "tensor([1])\n");
        CHECK(first_words("--split '\\p{Lu}\\p{Ll}+' --text '\u00c9t\u00e9Hiver' --keep-case") ==
              "tensor([2, 1])\n");
        program::check_refused("--split '(?:a*a*)*[bc]' --text '" + std::string(5000, 'a') + "'",
                               "takes too long");
    }

    TEST_CASE("--tokens and the first column of a table name ids and rows") {
        const std::string ids = "--ids 5,9,2 --vocab-size 12 --mask causal ";
        CHECK(run("why 'weights[Cat,the]' --tokens the,cat,_ " + ids)
                  .out.starts_with("weights[1,0] = "));
        CHECK(run(ids + "--tokens a,b,c -q").out == run(ids + "-q").out);
        CHECK(has(run("--ids '1,2,0;3,4,5' --pad-id 0 --tokens 'a,b;c,d,e' --only x --json").out,
                  R"([["a","b","0"],["c","d","e"]])"));
        const program::Folder folder;
        const std::string table = folder / "words.csv";
        std::ofstream(table) << "the,1,2\ncat,3,4\n";
        const program::Result walk = run("--only weights --x " + table);
        CHECK(has(walk.err, "the first column was read as row names"));
        CHECK(has(walk.out, "'cat'"));
        std::ofstream(table) << "word;f1;f2\nthe;1;2\ncat;3;4\n";
        CHECK(run("--only weights --x " + table).out == walk.out);
        CHECK(has(run("--only weights --tokens A,B --x " + table).out, "'B'"));
        std::ofstream(table) << "1,2\nx,4\n";
        program::check_refused("--x " + table, "line 2, column 1");
    }

    TEST_CASE("tables and JSON hold the tokens next to the numbers, in parts too") {
        const std::string two = "--text 'a b' --text 'c d' --only ";
        CHECK(run("--seq-len 2 --only weights --format csv")
                  .out.starts_with("step,query,key,value\n"));
        CHECK(has(run(two + "weights --json").out,
                  "\"tokens\":{\"query\":[[\"a\",\"b\"],[\"c\",\"d\"]],\"key\":"));
        // Features with names, one list for each head; and bounds, after the words of their step.
        const std::string features = run("--example adjective --only x --format csv").out;
        CHECK(has(features,
                  "step,query,feature,value,query_token,feature_name\nx,0,0,1,the,article\n"));
        const std::string bounds =
            run("--text 'a b' --only weights --digits certain --format csv").out;
        CHECK(has(bounds, "\nweights_bound,0,1,"));
        CHECK(bounds.ends_with(",b,b\n"));
        const std::string words = run("--split chars --text 'a,\"' --only ids --format csv").out;
    }

    TEST_CASE("a word is one token however it was typed, and scripts without spaces get a hint") {
        CHECK(run("why 'weights[0,e\u0301]' --text 'a \u00e9'").out ==
              run("why 'weights[0,1]' --text 'a \u00e9'").out);
    }

    TEST_CASE("a probe is also a program, which runs under PyTorch and is right") {
        const program::Folder folder;
        const std::string path = folder / "probe.py";
        REQUIRE(run("probe --code torch -o " + path).exit_code == 0);
        const std::string text = program::read_file(path);
        CHECK(has(text, "your own code from here on"));
        CHECK(has(text, "diagnose probe_mine.npz --given probe.npz"));
        program::check_refused("probe --code torch -o " + (folder / "probe.npz"), "-o probe.py");
        program::check_refused("probe -o " + path, "--code torch");
        if (program::shell("python3 -c 'import torch'").exit_code != 0) {
            MESSAGE("PyTorch is not installed: the program was not run");
            return;
        }
        const program::Result ran = program::shell("python3 " + path);
        REQUIRE_MESSAGE(ran.exit_code == 0, ran.err);
        CHECK(run("diagnose " + (folder / "probe_mine.npz") + " --given " + (folder / "probe.npz"))
                  .exit_code == 0);
    }

    TEST_CASE("the output of step goes to a file; lists and the probe have JSON too") {
        const program::Folder folder;
        const std::string path = folder / "steps.txt";
        const program::Result step = run("step -o " + path, "next\nmost\n");
        CHECK(step.exit_code == 0);
        CHECK(step.out.empty());
        CHECK(program::read_file(path) == run("step", "next\nmost\n").out);
        program::check_refused("step --full-screen -o " + path, "--output");
        CHECK(has(run("--list-steps --json").out, "{\"name\": \"weights\", \"title\": "));
        const program::Result probe = run("probe --json -o " + (folder / "p.npz"));
        CHECK(has(probe.out, "{\"name\": \"x\", \"shape\": [3, 5, 8]}"));
    }
}
