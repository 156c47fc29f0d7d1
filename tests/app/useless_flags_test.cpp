// Every flag, typed alone, changes the output, is reported to have no effect here, or is refused.
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/thinned.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

/// A flag of a walk as a shell completes it.
struct Row {
    std::string name;
    bool takes_value = false;
};

/// All flags of the walk, from the completions that the program generates from its rows.
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

/// The value each flag is tried with, unlike its default; the others get a small number.
std::map<std::string, std::string> values(const Folder& folder) {
    REQUIRE(run("--heads 2 -o " + (folder / "c.json")).exit_code == 0);
    REQUIRE(run("--seed 9 --format npz -o " + (folder / "w.npz")).exit_code == 0);
    return {{"--text", "'one two'"},
            {"--text-file", "tests/golden/default.txt"},
            {"--split", "chars"},
            {"--ids", "4,2,4"},
            {"--tokens", "a,b,c,d,e,f"},
            {"--vocab", "text"},
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
    return thinned(all);
}

bool is_specified(const program::Result& result, const std::string& flag) {
    return has(result.err, flag + " has no effect here: it needs ");
}

}  // namespace

TEST_SUITE("app: useless flags") {
    TEST_CASE("no flag of a walk is ignored silently") {
        const Folder folder;
        // These change where or how fast a walk is printed, or write a file; one never ends.
        const std::set<std::string> separated{
            "--threads", "--no-pager", "--pace", "--save-config", "--watch", "--help", "--version"};
        const std::string base = "--detail --sci-mode off --precision 9 ";
        const std::string usual = run(base).out;
        std::size_t tried = 0;
        for (const Trial& trial : trials(folder)) {
            if (separated.contains(trial.flag)) continue;
            // A flag that the base has already is tried without the base.
            const bool in_base = has(base, trial.flag + " ");
            const program::Result result = run((in_base ? "" : base) + trial.typed);
            const bool changes = result.out != (in_base ? run("").out : usual);
            const bool refused = result.exit_code == 2 && has(result.err, "error: ");
            CHECK_MESSAGE((changes || refused || is_specified(result, trial.flag)), trial.typed);
            ++tried;
        }
        CHECK(tried > 95 / thinned_by - 2);
    }

    TEST_CASE(
        "a flag without effect in a walk has none in a command that computes a walk, and is "
        "reported") {
        const Folder folder;
        std::ofstream(folder / "keys") << "show\n";
        const std::string script = "step --script " + (folder / "keys") + " ";
        std::size_t tried = 0;
        for (const Trial& trial : trials(folder)) {
            if (trial.flag == "--watch" || !is_specified(run(trial.typed), trial.flag)) continue;
            for (const std::string command :
                 {"why 'weights[0,1]' ", "lint ", "compare loop vectorized ", "notebook 001 ",
                  script.c_str()}) {
                // The walks of this page have loops, and heads that are merged.
                const bool met = trial.flag.ends_with("merge") || trial.flag == "--torch-build";
                if (met && has(command, "notebook")) continue;
                const program::Result result = run(command + trial.typed);
                const bool changes = result.exit_code != 2 && result.out != run(command).out;
                CHECK_MESSAGE(
                    (changes || result.exit_code == 2 || is_specified(result, trial.flag)),
                    command << trial.typed << ": " << result.err);
                ++tried;
            }
        }
        CHECK(tried > 60 / thinned_by - 2);
    }

    TEST_CASE("a walk that draws nothing, or not the requested tensor, reports it") {
        const std::string given = "--x data/six-by-three.csv --projection none";
        CHECK(is_specified(run(given + " --seed 5"), "--seed"));
        CHECK(is_specified(run("--mla 6 --heads 2 --draw-order kqv"), "--draw-order"));
        CHECK(is_specified(run(given + " --torch-build portable"), "--torch-build"));
        CHECK(is_specified(run("--rng numpy --torch-build portable"), "--torch-build"));
        CHECK(run(given + " --torch-build portable --variant loop").err == "");
    }

    TEST_CASE("no flag in a line of flags is ignored silently") {
        const Folder folder;
        const std::set<std::string> separated{"--watch"};  // never ends
        const std::string usual = run("compare '' ''").out;
        REQUIRE(has(usual, "no difference"));
        const auto unnamed = [](std::string text, const std::string& name) {
            for (std::size_t at = 0; (at = text.find(name)) != text.npos;) {
                text.erase(at, name.size());
            }
            return text;
        };
        const std::string page =
            unnamed(run("--format html --html-compare '--seed 42'").out, "--seed 42");
        std::set<std::string> tried, changing, refused;
        for (const Trial& trial : trials(folder)) {
            tried.insert(trial.flag);
            if (separated.contains(trial.flag)) continue;
            const program::Result result = run("compare \"" + trial.typed + "\" ''");
            const bool is_refused = result.exit_code == 2 && has(result.err, "error: ");
            const bool changes = result.exit_code == 1 || result.out != usual;
            CHECK_MESSAGE((is_refused || changes || is_specified(result, trial.flag)),
                          trial.typed << ": " << result.err);
            if (is_refused) refused.insert(trial.flag);
            if (!is_refused && changes) changing.insert(trial.flag);
            const program::Result beside =
                run("--format html --html-compare \"" + trial.typed + "\"");
            const bool is_other = trial.flag == "--threads" || beside.exit_code == 2 ||
                                  is_specified(beside, trial.flag) ||
                                  unnamed(beside.out, trial.typed) != page;
            CHECK_MESSAGE(is_other, trial.typed << ": " << beside.err);
        }
        for (const char* flag : {"--preset", "--config", "--notebook", "--bug", "--heads",
                                 "--backward", "--rng", "--compute-dtype"}) {
            CHECK_MESSAGE(changing.contains(flag) == tried.contains(flag), std::string(flag));
        }
        for (const char* flag : {"--save-config", "--output", "--color", "--format", "--only",
                                 "--save-dir", "--json", "--summary", "--list-steps"}) {
            CHECK_MESSAGE(refused.contains(flag) == tried.contains(flag), std::string(flag));
        }
        CHECK(is_specified(run("compare --backward '--backward --check-gradient'"),
                           "--check-gradient"));
        CHECK(tried.size() > 95 / thinned_by - 2);
        CHECK(changing.size() > 40 / thinned_by - 2);
    }

    TEST_CASE("a line of flags prints the same messages as the flags typed one by one") {
        const Folder folder;
        std::ofstream(folder / "c.json") << R"({"heads": 3, "mask": "causal", "seed": 7})";
        const std::string file = folder / "c.json";
        const auto are_equal = [](const std::string& a, const std::string& b) {
            const program::Result result = run("compare " + a + " " + b);
            CHECK_MESSAGE(result.exit_code < 2, result.err);
            return result.exit_code == 0;
        };
        for (const std::string preset :
             {"gpt2", "bert", "t5", "phi3", "deepseek", "mistral", "llama3", "gemma2", "gpt-oss"}) {
            CHECK_MESSAGE(!are_equal("'--preset " + preset + "'", "''"), preset);
            const std::string walk = folder / (preset + ".npz");
            REQUIRE(run("--preset " + preset + " -o " + walk).exit_code == 0);
            CHECK_MESSAGE(are_equal("'--preset " + preset + "'", walk), preset);
        }
        CHECK(!are_equal("'--preset llama2'", "'--preset llama3'"));
        CHECK(are_equal("'--config " + file + "'", "'--heads 3 --mask causal --seed 7'"));
        CHECK(are_equal("'--config " + file + " --seed 9'", "'--heads 3 --mask causal --seed 9'"));
        // Typed flags win over those of a preset or a file, wherever each is typed.
        CHECK(are_equal("'--preset llama2 --heads 2'", "'--preset llama2' --heads 2"));
        CHECK(are_equal("'--heads 2' '--preset llama2 --heads 2'", "--preset llama2"));
        CHECK(are_equal("'--preset llama3' ''", "--preset llama3"));
        CHECK(are_equal("'--preset llama3' '--preset llama3'", "--preset gpt2"));
        CHECK(are_equal("'--ids 4,2' '--heads 3 --mask causal --seed 7 --ids 4,2'",
                        "--config " + file));
        CHECK(run("compare '' '--heads 2' --config - <" + file).exit_code == 1);
        CHECK(program::shell("cat " + file +
                             " | attn-explain compare '' '--seed 7' --config /dev/stdin")
                  .exit_code == 0);
        std::ofstream(folder / "keys") << "set preset=llama3\nundo\nset config=" << file << "\n";
        const std::string stepped = run("step --script " + (folder / "keys")).out;
        CHECK(has(stepped, "rotated_query"));
        CHECK(!has(stepped, "nothing changed"));
        CHECK(is_specified(run("--format html --html-compare '--rope-theta 9'"), "--rope-theta"));
        CHECK(run("--format html --html-compare '--rope half' --rope-theta 9").err == "");
    }

    TEST_CASE("two words after compare are words, even if one is also a flag") {
        const auto same = [](const std::string& one, const std::string& other) {
            const program::Result a = run(one), b = run(other);
            CHECK_MESSAGE(a.exit_code < 2, one << ": " << a.err);
            CHECK_MESSAGE((a.out == b.out), one);
        };
        same("compare '' --backward", "compare '' '--backward '");
        same("compare --bias ''", "compare '--bias ' ''");
        same("compare '--preset=llama3' ''", "compare '--preset llama3' ''");
        same("compare --bias --backward", "compare '--bias ' '--backward '");
        same("compare '' --backward --json", "compare '' '--backward ' --json");
        same("compare --json '' --bias", "compare '' '--bias ' --json");
        same("compare --seq-len 3 '' --bias", "compare '--seq-len 3' '--seq-len 3 --bias'");
        same("compare -- --bias ''", "compare '--bias ' ''");
        same("compare --bias loop fused", "compare 'loop --bias' 'fused --bias'");
        CHECK(has(run("--html-compare --bias --format html").out, "b_query"));
    }

    TEST_CASE("a flag that one of two walks can use is not called useless") {
        CHECK(run("compare '' '--mask causal' --empty-row zero").err == "");
        CHECK(run("compare '--rope half' '--rope half --rope-theta 9'").err == "");
        CHECK(is_specified(run("compare '' '--rope-theta 9'"), "--rope-theta"));
        CHECK(run("notebook 002 --causal-align start").exit_code == 0);
        const Folder folder;
        const std::string file = folder / "a.json";
        REQUIRE(run("-o " + file).exit_code == 0);
        const program::Result files = run("compare " + file + " " + file + " --heads 3 --seed 2");
        CHECK(is_specified(files, "--heads"));
        CHECK(is_specified(files, "--seed"));
        CHECK(run("compare " + file + " loop --seed 42").err == "");
    }

    TEST_CASE("why reports that fewer terms or more depth change nothing") {
        CHECK(is_specified(run("why 'weights[1,0]' --top 1"), "--top"));
        CHECK(is_specified(run("why 'ids[1]' --depth 4 --json"), "--depth"));
        CHECK(run("why 'scores[1,0]' --depth 2").err == "");
        CHECK(run("why --help --heads 2").err == "");
    }
}
