// The suffix of a file's name chooses its format, for every command; and a program written this way
// runs.
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"
#include "tests/support/terminal.hpp"

using program::check_refused;
using program::Folder;
using program::has;
using program::run;

namespace {

/// A Python that has PyTorch; empty if there is none.
std::string python_with_torch() {
    for (const std::string python : {"python3", "/usr/bin/python3"}) {
        if (program::shell(python + " -c 'import torch'").exit_code == 0) return python;
    }
    return {};
}

}  // namespace

TEST_SUITE("app: output names") {
    TEST_CASE("an unknown extension is refused with a supported one") {
        const Folder folder;
        const std::string at = " -o '" + (folder / "v2.final.");
        for (const auto& [flags, advice] :
             {std::pair<std::string, std::string>{"--heads 2" + at + "png'", "v2.final.svg, and"},
              {"--heads 2" + at + "PDF'", "rsvg-convert"},
              {"--format svg" + at + "jpeg'", "v2.final.svg"},
              {"notebook 003" + at + "tex'", "pandoc"},
              {at + "pt'", "v2.final.safetensors"},
              {"--format npz" + at + "h5'", "v2.final.npz"},
              {"why 'weights[0,1]'" + at + "yml'", "v2.final.json"},
              {"--seq-len 3" + at + "ods'", "v2.final.csv"},
              {"--seq-len 3" + at + "gz'", ".npz or .safetensors"},
              {"generate --tokens 2" + at + "pdf'", "use a name that ends in .txt, .json or .html"},
              {"heads --text Once" + at + "csv'", ".json, .html or .npz"},
              {"heads --text Once --json" + at + "html'", "leave --json out"},
              {"bugs scale" + at + "md'", ".txt or .json"},
              {"compare loop fused" + at + "py'", ".txt or .json"},
              {"lint" + at + "Html'", ".txt or .json"},
              {"probe" + at + "json'", ".npz or .py"},
              {"probe" + at + "txt'", ".npz or .py"},
              {"bench --seq-len 4 --plot '" + (folder / "t.png'"), "t.svg"},
              {"man lint" + at + "html'", "use a name without that"},
              {"export --as gguf" + at + "safetensors'", ".gguf"},
              {"step" + at + "npz'", "use a name that ends in .txt"},
              {"--save-config '" + (folder / "c.png'"), ".json or .txt"}}) {
            check_refused(flags, advice);
        }
        CHECK(std::filesystem::is_empty(folder.path()));
    }

    TEST_CASE("extensions may be in capitals, and names without a known one are text") {
        const Folder folder;
        const auto written = [&](const std::string& flags, const std::string& name) {
            const program::Result result = run(flags + " -o '" + (folder / name) + "'");
            CHECK_MESSAGE(result.exit_code == 0, result.err);
            return program::read_file(folder / name);
        };
        CHECK(written("--only x", "A.NPZ") == written("--only x", "a.npz"));
        CHECK(nlohmann::json::accept(written("lint", "L.Json")));
        CHECK(written("", "P.Py") == run("--format python").out);
        for (const std::string name :
             {"walk", "walk.TXT", "run.log", "seed.42", ".hidden", "tmp.aB3dEf9xYz", "walk-0.5"}) {
            CHECK(written("--seed 3", name) == run("--seed 3").out);
        }
        CHECK(written("--json", "w.geojson") == run("--json").out);
        CHECK(written("completions fish", "a.fish") == run("completions fish").out);
        CHECK(written("man why", "why.1") == run("man why").out);
    }

    TEST_CASE("lists and lessons are JSON if --json or the file name requests it") {
        const Folder folder;
        for (const std::string command :
             {"--list-presets", "--list-layers --model-file stories", "--list-steps --heads 3",
              "notebook 001 --as-flags", "notebook 003 --as-flags weights", "notebook"}) {
            CAPTURE(command);
            const std::string path = folder / "list.json";
            program::Result result = run(command + " -o " + path);
            CHECK_MESSAGE(result.exit_code == 0, result.err);
            CHECK(nlohmann::json::accept(program::read_file(path)));
            CHECK(run(command + " --json").out == program::read_file(path));
            CHECK_FALSE(nlohmann::json::accept(run(command).out));
            check_refused(command + " -o " + (folder / "list.csv"), "JSON");
        }
        CHECK(nlohmann::json::parse(run("lint --json --explain scale-dmodel").out)["id"] ==
              "scale-dmodel");
    }

    TEST_CASE("no file is written twice, and no file that was not named is overwritten") {
        const Folder folder;
        const std::string path = folder / "one.txt";
        check_refused("-o " + path + " --save-config '" + (folder / "./one.txt") + "'",
                      "a file of its own");
        CHECK(run("--only x -o /dev/null --save-config /dev/null").exit_code == 0);

        std::ofstream(folder / "mine.npz") << "my own numbers";
        check_refused("probe --code torch -o " + (folder / "mine.py"), "mine.npz");
        CHECK(program::read_file(folder / "mine.npz") == "my own numbers");
        REQUIRE(run("probe --code torch -o " + (folder / "other.py")).exit_code == 0);
        // The program may contain the user's own code by now; the probe beside it may be replaced.
        check_refused("probe --code torch -o " + (folder / "other.py"), "other.py exists");
        std::filesystem::remove(folder / "other.py");
        CHECK(run("probe --code torch -o " + (folder / "other.py")).exit_code == 0);

        REQUIRE(run("probe -o " + (folder / "p.npz")).exit_code == 0);
        CHECK(run("probe -o -").out == program::read_file(folder / "p.npz"));
        CHECK_FALSE(std::filesystem::exists(ATTN_SOURCE_DIR "/-"));
    }

    TEST_CASE("a walk that would write a file that it watches is refused") {
        const Folder folder;
        const std::string csv = folder / "t.csv";
        std::ofstream(csv) << "1,2\n3,4\n";
        check_refused("--watch --x " + csv + " --only x -o '" + (folder / "./t.csv") + "'",
                      "--watch");
        REQUIRE(run("--seq-len 2 --save-dir " + (folder / "d")).exit_code == 0);
        check_refused("--watch --x " + (folder / "d/01_x.npy") + " --save-dir " + (folder / "d"),
                      "--watch");
    }

    TEST_CASE("formats that are not for reading on a terminal are refused there") {
        for (const std::string format : {"html", "svg", "ipynb"}) {
            Terminal terminal("attn-explain --format " + format, 160, 24);
            CHECK(has(terminal.wait_for("[ended]"), "pass -o FILE." + format));
        }
        Terminal probe("attn-explain probe -o -", 80, 24);
        CHECK(has(probe.wait_for("[ended]"), "pass -o probe.npz"));
    }

    TEST_CASE("a page too large for a browser is refused before it is made") {
        const Folder folder;
        const std::string path = folder / "big.html";
        const auto start = std::chrono::steady_clock::now();
        check_refused("--seq-len 3000 --heads 4 -o " + path, "--only 'weights");
        check_refused("--seq-len 900 --heads 8 --embed-dim 64 --mask causal --format html", "MB");
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
        CHECK_FALSE(std::filesystem::exists(path));
        const program::Result part = run("--seq-len 1500 --heads 2 --embed-dim 8 -o " + path +
                                         " --only 'weights[...,:9,:9]'");
        CHECK_MESSAGE(part.exit_code == 0, part.err);
        CHECK(std::filesystem::file_size(path) < 1'000'000);
    }

    TEST_CASE("--code writes a program; its comments contain the output") {
        const std::string walk = "--text 'it rains again' --heads 2 --embed-dim 6 --mask causal ";
        const std::string code = run(walk + "--code numpy --only weights,context").out;
        CHECK(code.rfind("# attn-explain --text 'it rains again'", 0) == 0);
        CHECK(has(code, "\nimport numpy as np\n"));
        CHECK(has(code, "\nprint(weights)\n# [[["));
        CHECK_FALSE(has(code, "\n[["));
        const Folder folder;
        REQUIRE(run(walk + "-o " + (folder / "w.py")).exit_code == 0);
        CHECK(has(program::read_file(folder / "w.py"), "\nprint(weights)\n# tensor([[["));
        const std::string interpreter = python_with_torch();
        if (interpreter.empty()) {
            MESSAGE("SKIPPED: PyTorch is not installed, so no program was run");
            return;
        }
        const auto python = [&](const std::string& flags) {
            return program::shell("attn-explain " + flags + " | " + interpreter + " -");
        };
        CHECK(python(walk + "--code torch --detail").out == run(walk + "--detail -q").out);
        CHECK(python("--rng numpy --seq-len 3 --code numpy --only scores,weights").out ==
              run("--rng numpy --seq-len 3 --only scores,weights -q").out);
        CHECK(python("--dtype float64 --seq-len 3 --precision 9 --code torch --only context").out ==
              run("--dtype float64 --seq-len 3 --precision 9 --only context -q").out);
        const std::string back =
            "--ids 1,2,3 --projection none --backward --only d_x,d_key,d_query ";
        CHECK(python(back + "--code torch").out == run(back + "-q").out);
        CHECK(python("notebook 000 --code torch --only query_shape").out ==
              run("notebook 000 -q --only query_shape").out);
    }

    TEST_CASE("a Jupyter notebook opens with its command, and its settings are folded at the end") {
        const auto cells =
            nlohmann::json::parse(run("--heads 2 --only context --format ipynb").out)["cells"];
        CHECK(cells.front()["source"].size() < 10);
        CHECK(cells.front().dump().find("attn-explain --heads 2") != std::string::npos);
        CHECK(cells.back()["cell_type"] == "markdown");
        CHECK(cells.back()["source"].front() == "<details><summary>All settings</summary>\n");
        CHECK(cells.back().dump().find("- rng: `\\\"torch\\\"`") != std::string::npos);
    }

    TEST_CASE("flags of a format that is not printed are reported") {
        for (const auto& [flags, flag] :
             {std::pair{"--format numpy --heatmap", "--format"},
              {"--heatmap --format plain --only x", "--format"},
              {"--summary --precision 3", "--precision"},
              {"--summary --heatmap", "--heatmap"},
              {"--summary --format plain", "--format"},
              {"--format html -q", "--no-notes"},
              {"--list-steps --only x", "--only"},
              {"--list-steps --from scores --heatmap", "--heatmap"},
              {"--list-presets --heads 3", "--heads"},
              {"--list-layers --model-file tests/models/fixtures/gpt2 --seed 3", "--seed"}}) {
            const program::Result result = run(flags);
            CAPTURE(flags);
            CHECK(result.exit_code == 0);
            CHECK_MESSAGE(has(result.err, std::string(flag) + " has no effect here"), result.err);
        }
        const Folder folder;
        CHECK(has(run("--pace --save-dir " + (folder / "d")).err, "--pace has no effect here"));
    }

    TEST_CASE("steps that follow from a mistaken step are marked") {
        const std::string words = run("--bug k-dot-k --heads 2 --only value,weights,context").out;
        CHECK(has(words, "pays to each key (after k-dot-k)\n"));
        CHECK_FALSE(has(words.substr(0, words.find("# weights: ")), "(after"));
        for (const std::string flags :
             {"--model-file stories --text hi --bug rope-style --only weights",
              "why 'context[1,0]' --bug softmax-axis=query",
              "--bug scale-missing --only output "
              "--output-projection --format markdown",
              "why 'weights[1,0]' --bug scale-missing "
              "--json",
              "--bug scale-missing --bug k-dot-k --only 'weights[1]'"}) {
            CAPTURE(flags);
            const std::string out = run(flags).out;
            CHECK((has(out, "(after ") || has(out, "! computed from ")));
        }
    }

    TEST_CASE("cells of a notebook that depend on the seed are marked, others are not") {
        const std::string page = run("notebook 002 --seed 11 --only weights,x_shape").out;
        CHECK_FALSE(has(page.substr(page.find("# x_shape")), "Differs from"));
        const auto own = nlohmann::json::parse(run("notebook 001 --json").out)["config"]["seed"];
        CHECK_FALSE(has(run("notebook 001 --seed " + own.dump()).out, "Differs from"));
        CHECK(has(run("notebook 001 --seed 8124 --json").out, "\"changed\":true"));
        const program::Result axis = run("notebook 002 --bug softmax-axis=query --only weights");
        const std::string whole = run("notebook 002 --bug softmax-axis=query").out;
        CHECK(has(whole, "As on the page: the mistake softmax-axis=query has no"));
    }
}
