// The stepper run from a script: every command by its name, no prompt, no escapes, the same bytes.
#include <sstream>

#include "tests/support/golden.hpp"

using program::Folder;
using program::run;

namespace {

/// The output of a script of these lines, after the first step.
std::string printed_by(const std::string& lines, const std::string& flags = {}) {
    const program::Result first = run("step --variant loop " + flags, "");
    const program::Result result = run("step --variant loop " + flags, lines);
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    REQUIRE(result.out.starts_with(first.out));
    return result.out.substr(first.out.size());
}

}  // namespace

TEST_SUITE("app: step by script") {
    TEST_CASE("a whole session is the same, byte for byte") {
        const Folder folder;
        std::ofstream(folder / "script") << "# what attends to what\n"
                                            "next\n"
                                            "goto weights\n"
                                            "cell 1,short,life\n"
                                            "most\n"
                                            "why\n"
                                            "dive\nother\nback\ndive\ndive\nback\nback\n"
                                            "search values\n"
                                            "\n"
                                            "set mask=none scale=none\n"
                                            "list\n"
                                            "goto weights\n"
                                            "cell\n"
                                            "undo\n"
                                            "only weights[0,:2],context\n"
                                            "next\n"
                                            "only\n"
                                            "detail\n"
                                            "precision 2\n"
                                            "help\n"
                                            "quit\n"
                                            "this is not read\n";
        const std::string command =
            "step --variant loop --heads 2 --mask causal --script " + (folder / "script");
        const program::Result result = run(command);
        CHECK_MESSAGE(result.exit_code == 0, result.err);
        CHECK(result.err.empty());
        CHECK(result.out.find('\x1b') == std::string::npos);
        golden::check("step_script", result.out);
        CHECK(run(command).out == result.out);
    }
    TEST_CASE(
        "without a terminal the lines come from standard input, and the session ends with them") {
        CHECK(run("step", "").out == run("--only ids").out);
        CHECK(printed_by("next\n") == "\n" + run("--variant loop --only x").out);
        CHECK(printed_by("next") == printed_by("next\n"));
        CHECK(printed_by("# nothing\n\n   \n").empty());
    }
    TEST_CASE("next and previous stop at the ends") {
        CHECK(printed_by("previous\n") == "this is the first step\n");
        CHECK(printed_by("goto context\nnext\n").ends_with("this is the last step\n"));
        CHECK(printed_by("next 3\nprevious 2\n").ends_with(run("--variant loop --only x").out));
    }
    TEST_CASE("the position is kept from step to step") {
        CHECK(printed_by("goto scores\ncell 2,3\ngoto weights\ncell\n")
                  .ends_with("weights[2,3] = 0.1739   query 'short', key 'eat'\n"));
    }
    TEST_CASE("moving stops at the edges") {
        const std::string start = "goto weights\n";
        CHECK(printed_by(start + "right 2\ndown\nleft\n").ends_with("   query 'is', key 'is'\n"));
        CHECK(printed_by(start + "right 99\n").ends_with("key 'first'\n"));
        CHECK(printed_by(start + "last\nfirst\n").ends_with("query 'life', key 'life'\n"));
        CHECK(printed_by(start + "down 9223372036854775807\nup 2\n").find("query 'eat'") !=
              std::string::npos);
    }
    TEST_CASE("Tab cycles through heads and sequences") {
        const std::string two = "--heads 2 --text 'a b' --text 'c d'";
        CHECK(printed_by("goto weights\npage\n", two).find("weights[0,1,0,0]") !=
              std::string::npos);
        CHECK(printed_by("goto weights\npage\npage\n", two).find("weights[0,0,0,0]") !=
              std::string::npos);
        CHECK(printed_by("goto weights\npage-back\n", two).find("weights[0,1,0,0]") !=
              std::string::npos);
        CHECK(printed_by("goto weights\nbatch\n", two).find("weights[1,0,0,0]") !=
              std::string::npos);
        CHECK(
            printed_by("goto weights\nbatch 1\nhead 1\n", two).find("batch 1, head 1, query 'c'") !=
            std::string::npos);
    }
    TEST_CASE("a dive goes to the inputs of a number, and back") {
        const std::string weight = "goto weights\ncell 2,1\n";
        CHECK(printed_by(weight + "dive\n").find("\nscaled_scores[2,1] = ") != std::string::npos);
        CHECK(printed_by(weight + "dive\ndive\n").find("\nscores[2,1] = ") != std::string::npos);
        // The feature of a score that counts most; its partner is in the other source.
        const std::string deep = printed_by(weight + "dive\ndive\ndive\nother\n");
        CHECK(deep.find("\nquery[2,0] = 0.9371") != std::string::npos);
        CHECK(deep.find("\nkey[1,0] = 0.2316") != std::string::npos);
        CHECK(printed_by(weight + "dive\ndive\ndive\nother\nback\nback\nback\n")
                  .ends_with("weights[2,1] = 0.1735   query 'short', key 'is'\n"));
    }
    TEST_CASE("cells that a setting changes are counted and marked") {
        const std::string changed = printed_by("goto weights\ncell 0,1\nset mask=causal\ncell\n");
        CHECK(changed.find("weights 30 of 36") != std::string::npos);
        CHECK(changed.ends_with("weights[0,1] = 0.0000 (was 0.1621)   query 'life', key 'is'\n"));
        CHECK(printed_by("set heads=1\n") == "nothing changed\n");
        CHECK(printed_by("set text='to be or not'\ngoto weights\n").find("query 4 x key 4") !=
              std::string::npos);
    }
    TEST_CASE("a step is written to a file in the format of the walk") {
        const Folder folder;
        for (const std::string name : {"w.npy", "w.npz", "w.csv", "w.json", "w.txt", "w.md"}) {
            INFO(name);
            CHECK(printed_by("goto weights\nwrite " + (folder / name) + "\n")
                      .ends_with("wrote " + (folder / name) + "\n"));
        }
        CHECK(program::read_file(folder / "w.txt") == run("--variant loop --only weights").out);
        CHECK(run("--x " + (folder / "w.npy") + " --only x -q").out ==
              run("--variant loop --only weights -q").out);
    }
    TEST_CASE("a notebook can be stepped through too") {
        const program::Result result = run("notebook 000 --step", "next\ncell 1,2,3\nlist\n");
        CHECK_MESSAGE(result.exit_code == 0, result.err);
        CHECK(result.out.find("x[1,2,3] = 1.7528") != std::string::npos);
    }
    TEST_CASE("why takes a cell as attn-explain why does, or a cell of this step") {
        const std::string reported = run("step", "why weights[2,short]\nwhy 0,1\nwhy 2\n").out;
        CHECK(reported.find("\nweights[2,2] = 0.1910") != reported.npos);
        CHECK(reported.find("\nweights[0,1] = 0.162102\n") != reported.npos);
        CHECK(reported.find("\n  scaled_scores[0,1] = ") != reported.npos);
        CHECK(run("step", "why wieghts[0,0]\n").err.find("wieghts") != std::string::npos);
    }
    TEST_CASE("from a notebook's page one can dive into the walk that it prints, and back") {
        const program::Result why =
            run("notebook 002 --step", "goto older_weights\ncell 3,1\nwhy\n");
        CHECK_MESSAGE(why.exit_code == 0, why.err);
        CHECK(why.out.find("weights[0,3,1] = 0.107982\n  = exp(masked_scores") !=
              std::string::npos);
        const program::Result dive =
            run("notebook 000 --step", "goto qkv_by_head\ncell 1,0,3\ndive\ndive\nundo\nnext\n");
        CHECK_MESSAGE(dive.exit_code == 0, dive.err);
        CHECK(dive.out.find("key[0,1,0,1] = -0.1312") != std::string::npos);
        CHECK(dive.out.find("qkv[0,0,9] = -0.1312") != std::string::npos);
        CHECK(dive.out.find("back on the notebook's page") != std::string::npos);
        const program::Result set =
            run("notebook 000 --step", "goto weights\nset bug=none\nundo\n");
        CHECK_MESSAGE(set.exit_code == 0, set.err);
        CHECK(set.out.find("weights 32 of 64") != std::string::npos);
        CHECK(run("notebook 002 --step", "goto weights_variance\nwhy\n")
                  .err.find("computed from all of weights") != std::string::npos);
        CHECK(run("notebook 002 --step", "goto transposed_alike\nwhy\n")
                  .err.find("no walk computes") != std::string::npos);
    }
    TEST_CASE("endless lines are refused, and the last line needs no line end") {
        for (const char* script : {"--script /dev/zero", "</dev/zero"}) {
            const auto result = run("step --text 'a b' -q " + std::string(script));
            CHECK(result.exit_code == 2);
            CHECK(result.err.find(":1: the line does not end") != std::string::npos);
        }
        CHECK(run("step --text 'a b' -q", "next\nprevious").out ==
              run("step --text 'a b' -q", "next\nprevious\n").out);
    }

    TEST_CASE("a line that fails ends the session, with its number") {
        const auto refused = [](const std::string& lines, const std::string& reason) {
            INFO(lines);
            const program::Result result = run("step", lines);
            CHECK(result.exit_code == 2);
            CHECK(result.err.starts_with("attn-explain: error: standard input:"));
            CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
            CHECK_MESSAGE(result.err.find(reason) != std::string::npos, result.err);
        };
        refused("next\nwrte x\n",
                "standard input:2: there is no command 'wrte'; did you mean write?");
        refused("goto wieghts\n", "weights?");
        refused("goto\n", "goto weights");
        refused("cell 9,9\n", "9");
        refused("goto weights\ncell 9,9\n", "beyond the query axis");
        refused("goto weights\ncell nobody,life\n", "'nobody' is not an index");
        refused("head 2\n", "ids has no head axis");
        refused("next zero\n", "zero");
        refused("next 0\n", "from 1 on");
        refused("quit now\n", "takes no argument");
        refused("other\n", "dive");
        refused("back\n", "no dive to return from");
        refused("undo\n", "nothing to undo");
        refused("set\n", "set what");
        refused("set mask=diagonal\n", "diagonal");
        refused("set nonsense=1\n", "nonsense");
        refused("only nothing\n", "nothing");
        refused("precision 99\n", "20");
        refused("write\n", "as in: write weights.npy");
        refused("write w.bin\n", "use a name that ends in .txt, .md");
        refused("write w.xyz\n", ".html, .svg, .xlsx, .csv, .npy, .npz or .safetensors");
        refused("goto 99\n", "there is no step '99': there are 9 steps");
        refused("set text=hello world\n", "quote a value with spaces: text='the cat'");
        refused("write /nowhere/w.npy\n", "/nowhere/w.npy");
        refused("search zebra\n", "zebra");
    }
    TEST_CASE("the help page fits in 80 columns and names the formats of write") {
        std::istringstream lines(run("step --lines", "help\n").out);
        for (std::string line; std::getline(lines, line);) {
            CHECK_MESSAGE(line.size() <= 80, line);
        }
        const program::Folder folder;
        for (const char* name : {"a.svg", "a.html", "a.md"}) {
            INFO(name);
            CHECK(run("step", "goto weights\nwrite " + (folder / name) + "\n").exit_code == 0);
        }
    }
}
