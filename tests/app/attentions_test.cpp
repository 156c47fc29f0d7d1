#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.hpp"
#include "tests/support/thinned.hpp"

using program::has;
using program::run;

TEST_SUITE("app: attentions") {
    TEST_CASE("a shipped attention runs in each form, and its record reproduces the run") {
        const program::Folder folder;
        const std::string walk = "--attention retention --seq-len 5 --only context -q ";
        const std::string printed = run(walk).out;
        CHECK(has(printed, "tensor([[["));
        CHECK(run(walk + "--form recurrent").out == printed);
        CHECK(run(walk + "--form chunked --set chunk=3").out == printed);
        const std::string record = folder / "walk.json";
        CHECK(run(walk + "--form recurrent --save-config " + record).exit_code == 0);
        CHECK(run("--only context -q --config " + record).out == printed);
    }
    TEST_CASE("the page of a walk has the verdict on each form") {
        const std::string page = run("--attention retention --seq-len 3 --format html").out;
        for (const char* form : {"recurrent", "chunked"}) {
            CHECK(has(page, "context is the same in parallel and " + std::string(form) +
                                ", proved for every input of these shapes"));
        }
    }
    TEST_CASE("every shipped attention runs, its forms agree, and it is written as page and code") {
        std::vector<std::string> names;
        std::istringstream list(run("attentions").out);
        for (std::string line; std::getline(list, line);) {
            names.push_back(line.substr(0, line.find(' ')));
        }
        for (const std::string& name : thinned(names)) {
            INFO(name);
            const bool has_forms = has(run("attentions " + name).out, "\nsame ");
            if (has_forms) CHECK(run("attentions " + name + " --forms").exit_code == 0);
            const std::string walk = "--attention " + name + " --seq-len 4 ";
            const program::Result batch = run(walk + "--random randn --batch 2 --backward");
            CHECK_MESSAGE(batch.exit_code == 0, batch.err);
            CHECK(has(batch.out, "d_w_"));
            CHECK(run(walk + "--dtype float16").exit_code == 0);
            CHECK(has(run(walk + "--code torch").out, "import torch"));
            CHECK(has(run(walk + "--format html").out, "</html>"));
        }
    }
    TEST_CASE(
        "a new step is inserted before every built-in step that reads it, and one token is "
        "enough") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn";
        std::ofstream(file) << "attention mine\nbegins --mask causal\n"
                               "step part[t] = t // 2\n"
                               "step pair[q,k] = part[q] * 2 + part[k]\n"
                               "step context[q,f] = sum k: weights[q,k] * values[pair[q,k] % 2,f]\n"
                               "step scores[q,k] = part[q] * sum f: queries[q,f] * keys[k,f]\n";
        const std::string walk = "--seq-len 3 --list-rules --attention " + file;
        const std::string rules = run(walk).out;
        CHECK(rules.find("part[t] =") < rules.find("scores[q,k] ="));
        CHECK(run(walk + " --only context").exit_code == 0);
        CHECK(run("--attention deltanet --form parallel --seq-len 1").exit_code == 0);
    }
    TEST_CASE("a user's file runs, and its record contains the text of the file") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn", record = folder / "walk.json";
        CHECK(run("attentions --new " + file).exit_code == 0);
        const std::string walk = "--seq-len 5 --only weights -q --set half=1 ";
        const program::Result outcome =
            run(walk + "--attention " + file + " --save-config " + record);
        CHECK(outcome.exit_code == 0);
        std::filesystem::remove(file);
        CHECK(run("--only weights -q --config " + record).out == outcome.out);
        CHECK(run(walk + "--attention " + file).exit_code == 2);
    }
    TEST_CASE("a user's file can come through a pipe") {
        for (const char* const command :
             {"--attention -", "--attention /dev/stdin --only context", "attentions - --forms",
              "why 'context[0,0,0]' --attention -", "bugs --attention -", "lint --attention -",
              "--attention - --code numpy"}) {
            const std::string piped =
                "attn-explain attentions retention | attn-explain " + std::string(command);
            CAPTURE(piped);
            const auto result = program::shell(piped);
            CHECK_MESSAGE(result.exit_code == 0, result.err);
        }
        CHECK(program::shell("attn-explain attentions retention | attn-explain --attention - -q")
                  .out == run("--attention retention -q").out);
        CHECK(program::shell("attn-explain examples copy | attn-explain --example - -q").out ==
              run("--example copy -q").out);
    }

    TEST_CASE(
        "an edited attention is never overwritten, and a new one reports the command that runs "
        "it") {
        const program::Folder folder;
        const std::string in = "cd '" + folder.path().string() + "' && attn-explain attentions ";
        const program::Result outcome = program::shell(in + "--new mine");
        CHECK(outcome.exit_code == 0);
        CHECK_MESSAGE(has(outcome.err, "attn-explain --attention mine.attn"), outcome.err);
        CHECK(program::read_file(folder / "mine.attn")
                  .starts_with("# An attention of your own: attn-explain --attention mine.attn\n"));
        std::ofstream(folder / "mine.attn") << "my work\n";
        for (const char* again : {"--new mine", "--new mine.attn", "retention --new mine.attn",
                                  "retention -o mine.attn", "-o mine.attn"}) {
            const program::Result refused = program::shell(in + again);
            CHECK_MESSAGE(refused.exit_code == 2, again);
            CHECK_MESSAGE(has(refused.err, "mine.attn exists"), refused.err);
            CHECK(program::read_file(folder / "mine.attn") == "my work\n");
        }
        // The file of an existing attention is the starting point for a new one.
        const std::string retention = run("attentions retention").out;
        CHECK(program::shell(in + "retention --new r.attn").exit_code == 0);
        CHECK(program::shell(in + "retention -o o.attn").exit_code == 0);
        CHECK(program::shell(in + "./o.attn --new p.attn").exit_code == 0);
        for (const char* file : {"r.attn", "o.attn", "p.attn"}) {
            CHECK(program::read_file(folder / file) == retention);
        }
        CHECK(has(run("attentions --new -").out, "--attention mine.attn\n"));
        CHECK(has(program::shell(in + "--new 'my own.attn'").err, "'my own.attn'"));
        CHECK(has(program::read_file(folder / "my own.attn"), "--attention 'my own.attn'\n"));
    }
    TEST_CASE("the memory limit counts the walk's own steps: a recurrent form has no scores") {
        const std::string walk =
            "--attention retention --seq-len 60000 --embed-dim 4 --only context[0,59999] -q ";
        CHECK(run(walk + "--form recurrent").exit_code == 0);
        const program::Result squares = run(walk);
        CHECK(squares.exit_code == 2);
        CHECK(has(squares.err, "of it for scores"));
        CHECK(has(squares.err, "use another form (--form recurrent or --form chunked), or make"));
    }

    TEST_CASE("--cost counts in letters, and refuses what it would ignore") {
        const auto cost = nlohmann::json::parse(run("attentions retention --cost --json").out);
        CHECK(cost.at("forms").at(1).at("all").at("cached") == "H D^2");
        CHECK(cost.at("equal").at(0).at("T") == "3 D^2 / (2 D + 1)");
        CHECK(cost.at("sizes").at("chunk") == 2);
    }

    TEST_CASE("a broken promise is a finding and names the cell") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn";
        std::ofstream(file) << "attention mine\nform a\nstep context[q,f] = 1\n"
                               "form b\nstep context[q,f] = 1 + q\nsame context\n";
        const program::Result broken = run("--seq-len 3 --attention " + file);
        CHECK(broken.exit_code == 1);
        CHECK(has(broken.out, "context[0,1,0] is 1 in a and 2 in b"));
        CHECK(run("attentions " + file + " --forms").exit_code == 1);
        CHECK(run("attentions retention --forms").exit_code == 0);
    }
    TEST_CASE("two attentions with forms are compared, each with its own") {
        const program::Result both = run("--attention alibi --attention forgetting -q");
        CHECK_MESSAGE(both.exit_code == 0, both.err);
    }
    TEST_CASE("forms that work out too many numbers are refused before they are walked") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn";
        std::ofstream(file) << "attention mine\nform a\n"
                               "step context[q,f] = sum k: sum i in 0..Tk: sum j in 0..Tk: "
                               "values[q,f] * values[k,f] * values[i,f] * values[j,f]\n"
                               "form b\nstep context[q,f] = values[q,f]\nsame context\n";
        const auto large = run("attentions " + file + " --forms --seq-len 60");
        CHECK(large.exit_code == 2);
        CHECK(has(large.err, "form a works out some "));
        CHECK(has(large.err, "numbers, too many to compare: use fewer tokens or features\n"));
        std::ofstream(file) << "attention mine\naxis n < 100000000\nstep big[n] = n\nform a\n"
                               "step context[q,f] = big[0]\nform b\n"
                               "step context[q,f] = 0\nsame context\n";
        CHECK(run("attentions " + file + " --forms").exit_code == 2);
        std::ofstream(file) << "attention mine\nstep context[q,f] = values[q,f]\n";
        CHECK(run("attentions " + file + " --forms").out ==
              "this file names no tensors that should be the same\n");
    }
    TEST_CASE("a file can be started from flags that name no file") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn";
        for (const std::string begins : {"--weights w.npz", "--rule @r.txt", "-o out.txt",
                                         "--attention retention", "--mask-file m.npy"}) {
            std::ofstream(file) << "attention mine\nbegins " << begins
                                << "\nstep context[q,f] = 1\n";
            const program::Result refused = run("--attention " + file);
            CHECK_MESSAGE(refused.exit_code == 2, begins);
            CHECK_MESSAGE(has(refused.err, "mine.attn:2: "), refused.err);
        }
        CHECK(run("--attention retention --variant fused").exit_code == 2);
    }
    TEST_CASE("the list names every file, and a file is shown as it is") {
        const std::string list = run("attentions").out;
        CHECK(has(list, "deltanet "));
        CHECK(has(run("attentions deltanet").out, "\nform recurrent\n"));
        CHECK(has(run("attentions deltanet --json").out, "error-after"));
    }
}
