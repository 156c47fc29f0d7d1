// Every flag, typed alone: what is printed changes, or it is said that it has no effect here, or it
// is refused.
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::has;
using program::run;

namespace {

/// A flag of a walk as a shell completes it.
struct Row {
    std::string name;
    bool takes_value = false;
};

/// All flags of the walk, from the completions that the program writes of its rows.
std::vector<Row> rows() {
    std::vector<Row> all;
    std::istringstream lines(run("completions fish").out);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(" -l ");
        if (!has(line, "-n 'not __attn_explain_command") || at == std::string::npos) continue;
        const std::size_t end = line.find(' ', at + 4);
        all.push_back({"--" + line.substr(at + 4, end - at - 4), has(line, "' -r")});
    }
    return all;
}

/// The value each flag is tried with, unlike its default; the others take a small number.
std::map<std::string, std::string> values(const Folder& folder) {
    REQUIRE(run("--heads 2 -o " + (folder / "c.json")).exit_code == 0);
    REQUIRE(run("--seed 9 --format npz -o " + (folder / "w.npz")).exit_code == 0);
    return {{"--text", "'one two'"},
            {"--text-file", "tests/golden/default.txt"},
            {"--split", "chars"},
            {"--ids", "4,2,4"},
            {"--tokens", "a,b,c,d,e,f"},
            {"--vocab-size", "50"},
            {"--random", "rand"},
            {"--x", "data/six-by-three.csv"},
            {"--memory-text", "'one two'"},
            {"--memory-ids", "4,2"},
            {"--memory", "data/six-by-three.csv"},
            {"--notebook", "002"},
            {"--projection", "stacked"},
            {"--init", "uniform"},
            {"--draw-order", "vqk"},
            {"--weight-layout", "in-out"},
            {"--weights", folder / "w.npz"},
            {"--model", "gpt2"},
            {"--mask", "causal"},
            {"--mask-file", "data/six-by-three.csv"},
            {"--mask-true", "keep"},
            {"--causal-align", "end"},
            {"--empty-row", "zero"},
            {"--scale", "none"},
            {"--softmax-axis", "query"},
            {"--model-file", "stories"},
            {"--tokenizer", "nowhere.json"},
            {"--x-norm", "rms"},
            {"--position-embedding", "learned"},
            {"--positions", "3,4,5,6,7,8"},
            {"--rope", "half"},
            {"--rope-scaling", "linear:2"},
            {"--position-bias", "alibi"},
            {"--qk-norm", "head"},
            {"--qk-norm-place", "after"},
            {"--sink", "zero"},
            {"--rng", "numpy"},
            {"--torch-build", "portable"},
            {"--burn", "rand:3"},
            {"--burn-before", "rand:3"},
            {"--dtype", "float64"},
            {"--compute-dtype", "float64"},
            {"--variant", "loop"},
            {"--bug", "scale-missing"},
            {"--preset", "llama3"},
            {"--config", folder / "c.json"},
            {"--save-config", folder / "saved.json"},
            {"--html-compare", "'--heads 2'"},
            {"--format", "plain"},
            {"--save-dir", folder / "steps"},
            {"--figure", "arcs"},
            {"--theme", "dark"},
            {"--embed", ""},
            {"--code", "torch"},
            {"--output", folder / "walk.txt"},
            {"--color", "always"},
            {"--only", "weights"},
            {"--from", "scores"},
            {"--until", "scores"},
            {"--threshold", "3 --edgeitems 1"},
            {"--edgeitems", "1 --threshold 3"},
            {"--sci-mode", "on"}};
}

/// A flag with a value, typed after a command.
struct Trial {
    std::string flag, typed;
};

std::vector<Trial> trials(const Folder& folder) {
    const std::map<std::string, std::string> known = values(folder);
    std::vector<Trial> all;
    for (const Row& row : rows()) {
        const auto value = known.find(row.name);
        all.push_back({row.name, row.name + (!row.takes_value       ? ""
                                             : value == known.end() ? " 3"
                                                                    : " " + value->second)});
    }
    return all;
}

bool is_said(const program::Result& result, const std::string& flag) {
    return has(result.err, flag + " has no effect here: it needs ");
}

}  // namespace

TEST_SUITE("app: useless flags") {
    TEST_CASE("no flag of a walk is swallowed") {
        const Folder folder;
        // These change where or how fast a walk is printed, or write a file; one never ends.
        const std::set<std::string> apart{"--threads", "--no-pager", "--pace",   "--save-config",
                                          "--watch",   "--help",     "--version"};
        const std::string base = "--detail --sci-mode off --precision 9 ";
        const std::string usual = run(base).out;
        std::size_t tried = 0;
        for (const Trial& trial : trials(folder)) {
            if (apart.contains(trial.flag)) continue;
            // A flag that the base has already is tried without the base.
            const bool in_base = has(base, trial.flag + " ");
            const program::Result result = run((in_base ? "" : base) + trial.typed);
            const bool changes = result.out != (in_base ? run("").out : usual);
            const bool refused = result.exit_code == 2 && has(result.err, "error: ");
            CHECK_MESSAGE((changes || refused || is_said(result, trial.flag)), trial.typed);
            ++tried;
        }
        CHECK(tried > 95);
    }

    TEST_CASE("what has no effect in a walk has none in a command that walks, and that is said") {
        const Folder folder;
        std::ofstream(folder / "keys") << "show\n";
        const std::string script = "step --script " + (folder / "keys") + " ";
        std::size_t tried = 0;
        for (const Trial& trial : trials(folder)) {
            if (trial.flag == "--watch" || !is_said(run(trial.typed), trial.flag)) continue;
            for (const std::string command :
                 {"why 'weights[0,1]' ", "lint ", "compare loop vectorized ", "notebook 001 ",
                  script.c_str()}) {
                // The walks of this page have loops, and heads that are merged.
                const bool met = trial.flag.ends_with("merge") || trial.flag == "--single-chain";
                if (met && has(command, "notebook")) continue;
                const program::Result result = run(command + trial.typed);
                const bool changes = result.exit_code != 2 && result.out != run(command).out;
                CHECK_MESSAGE((changes || result.exit_code == 2 || is_said(result, trial.flag)),
                              command << trial.typed << ": " << result.err);
                ++tried;
            }
        }
        CHECK(tried > 60);
    }

    TEST_CASE("a walk that draws nothing, or not what is asked for, says so") {
        const std::string given = "--x data/six-by-three.csv --projection none";
        for (const std::string flag :
             {"--seed 5", "--burn randn:2", "--burn-before rand:9", "--redraw 2"}) {
            INFO(flag);
            CHECK(is_said(run(given + " " + flag), flag.substr(0, flag.find(' '))));
        }
        CHECK(is_said(run("--projection none --burn rand:3"), "--burn"));
        CHECK(run("--projection none --burn-before rand:3").err == "");
        CHECK(is_said(run("--mla 6 --heads 2 --draw-order kqv"), "--draw-order"));
        CHECK(run("--projection none --output-projection --burn rand:3").err == "");
        CHECK(is_said(run(given + " --torch-build portable"), "--torch-build"));
        CHECK(is_said(run("--rng numpy --torch-build portable"), "--torch-build"));
        CHECK(run(given + " --torch-build portable --variant loop").err == "");
    }

    TEST_CASE("a flag that one of two walks can use is not called useless") {
        CHECK(run("compare '' '--mask causal' --empty-row zero").err == "");
        CHECK(run("compare '--rope half' '--rope half --rope-theta 9'").err == "");
        CHECK(is_said(run("compare '' '--rope-theta 9'"), "--rope-theta"));
        CHECK(run("notebook 002 --causal-align start").exit_code == 0);
        const Folder folder;
        const std::string file = folder / "a.json";
        REQUIRE(run("-o " + file).exit_code == 0);
        const program::Result files = run("compare " + file + " " + file + " --heads 3 --seed 2");
        CHECK(is_said(files, "--heads"));
        CHECK(is_said(files, "--seed"));
        CHECK(run("compare " + file + " loop --seed 42").err == "");
    }

    TEST_CASE("why says where fewer terms or more depth change nothing") {
        CHECK(is_said(run("why 'weights[1,0]' --top 1"), "--top"));
        CHECK(run("why 'context[1,0]' --top 1").err == "");
        CHECK(run("why 'weights[1,0]' --top 1 --depth 3").err == "");
        CHECK(is_said(run("why 'ids[1]' --depth 4 --json"), "--depth"));
        CHECK(run("why 'scores[1,0]' --depth 2").err == "");
        check_refused("why 'weights_variance[0]' --notebook 002", "leave the brackets out");
        check_refused("--mask window:2,causal,window:3", "--mask says window twice");
        check_refused("--mask padding,padding", "--mask says padding twice");
        CHECK(has(run("--version --help").err, "--help has no effect beside --version"));
        CHECK(has(run("-h 2").err, "2 has no effect beside -h"));
        CHECK(run("why --help --heads 2").err == "");
    }
}
