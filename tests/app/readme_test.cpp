// The examples of README.md and of the pages beside the code are run, and their output is compared
// byte for byte. To write new outputs into the pages, run
//     ATTN_COLLECT_GOLDENS=1 build/dev/tests/attn_tests -ts='app: README'
// and read the difference before committing it.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "tests/support/program.hpp"

namespace {

const std::vector<std::string> pages{"README.md",
                                     "CONTRIBUTING.md",
                                     "app/README.md",
                                     "app/rules.md",
                                     "app/attentions.md",
                                     "data/formats.md",
                                     "lib/attn/README.md",
                                     "lib/attn/judge/README.md",
                                     "lib/attn/models/README.md",
                                     "tests/peers/README.md",
                                     "data/examples/README.md"};

std::string page(const std::string& name) { return program::read_file(ATTN_SOURCE_DIR "/" + name); }

struct Example {
    std::string command;
    std::string output;
};

/// The commands (`$ ...`) of the console blocks of a page, each with the lines that follow it.
std::vector<Example> examples_of(const std::string& text) {
    std::istringstream lines(text);
    std::vector<Example> examples;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("```", 0) == 0) {
            inside = line == "```console";
        } else if (inside && line.rfind("$ ", 0) == 0) {
            examples.push_back({line.substr(2), {}});
        } else if (inside && !examples.empty()) {
            examples.back().output += line + "\n";
        }
    }
    return examples;
}

/// The commands within the sentences of a page, and in its blocks for a shell.
std::vector<std::string> commands_in_prose(const std::string& text) {
    static const std::set<std::string> names{
        "attn-explain", "tour",        "notebook", "step", "why",        "lint",     "compare",
        "tolerance",    "diagnose",    "probe",    "bugs", "quiz",       "generate", "heads",
        "export",       "completions", "man",      "help", "attentions", "examples", "laws"};
    std::istringstream lines(text);
    std::vector<std::string> commands;
    std::string fence;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            fence = fence.empty() ? line : "";
        } else if (fence == "```sh" && line.starts_with("attn-explain ")) {
            commands.push_back(line);
        } else if (fence.empty()) {
            std::istringstream parts(line);
            std::string part;
            for (bool is_code = false; std::getline(parts, part, '`'); is_code = !is_code) {
                const std::string first = part.substr(0, part.find(' '));
                if (!is_code || first == part || !names.contains(first)) continue;
                commands.push_back(first == "attn-explain" ? part : "attn-explain " + part);
            }
        }
    }
    return commands;
}

/// The command with its placeholders filled in, as a reader would do it.
std::string filled_in(std::string command) {
    for (const auto& [word, meant] : std::vector<std::pair<std::string, std::string>>{
             {" COMMAND", " why"},
             {" ID", " scale-missing"},
             {" FILE", " mine.npz"},
             {" DIR", " exported"},
             {" A B", " loop vectorized"},
             {"python3", "cat"},
             {"'weights[cat,the]'", "'weights[cat,the]' --text 'the cat'"},
             {"diagnose --given", "diagnose mine.npz --given"},
             {"'next[...]'", "'next[upon]' --model-file stories --text 'Once'"}}) {
        const std::size_t at = command.find(word);
        if (at != command.npos) command.replace(at, word.size(), meant);
    }
    return command;
}

/// Writes the current output of a page's commands into its console blocks.
void collect(const std::string& name) {
    std::istringstream lines(page(name));
    std::string text;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const bool is_fence = line.rfind("```", 0) == 0;
        const bool is_command = inside && line.rfind("$ ", 0) == 0;
        if (is_fence) inside = line == "```console";
        if (inside && !is_fence && !is_command) continue;
        text += line + "\n";
        if (is_command) text += program::shell(line.substr(2)).out;
    }
    std::ofstream(ATTN_SOURCE_DIR "/" + name, std::ios::binary) << text;
}

/// Fails for a number whose next digit might be rounded either way. The walks compute in float32,
/// where a sum of a few products of about 1 is off by about 1e-7: a thousandth of the last of four
/// digits. NumPy's eight digits come from float64, which is far more exact.
void check_far_from_rounding(const nlohmann::json& data, double last_digit) {
    if (data.is_array()) {
        for (const auto& part : data) check_far_from_rounding(part, last_digit);
    } else {
        const double scaled = data.get<double>() * last_digit;
        const double to_rounding = std::abs(scaled - std::floor(scaled) - 0.5);
        CHECK_MESSAGE(to_rounding > 0.001, data);
    }
}

}  // namespace

TEST_SUITE("app: README") {
    TEST_CASE("every example on every page prints the output shown") {
        std::size_t count = 0;
        for (const std::string& name : pages) {
            if (std::getenv("ATTN_COLLECT_GOLDENS") != nullptr) collect(name);
            for (const Example& example : examples_of(page(name))) {
                INFO(name << ": " << example.command);
                const program::Result result = program::shell(example.command);
                CHECK(result.exit_code == 0);
                CHECK(!result.out.empty());
                CHECK(result.out == example.output);
                ++count;
            }
        }
        CHECK(count >= 20);
    }

    TEST_CASE("every command in prose runs, and has the expected exit code") {
        // Commands that report a finding, or that a page only names.
        const std::map<std::string, int> codes{
            {"attn-explain compare '--backward --scale none' --backward", 1},
            {"attn-explain compare '--notebook 002' '--notebook 002 --scale head-dim'", 1},
            {"attn-explain diagnose mine.npz", 1},
            {"attn-explain diagnose FILE", 1},
            {"attn-explain diagnose --given probe.npz", 3},
            {"attn-explain diagnose mine.npz --notebook 000", 3},
            {"attn-explain diagnose", 2},
            {"attn-explain compare", 2}};
        const std::set<std::string> slow{"attn-explain bench", "attn-explain diagnose --power"};
        const program::Folder folder;
        const std::string there = "cd '" + folder.path().string() + "' && ";
        std::filesystem::create_symlink(ATTN_SOURCE_DIR "/data", folder.path() / "data");
        std::ofstream(folder / "answers") << "skip\n";
        REQUIRE(program::shell(there + "attn-explain probe -o probe.npz && "
                                       "attn-explain --bug softmax-axis=query --only weights "
                                       "-o mine.npz")
                    .exit_code == 0);
        std::size_t count = 0;
        std::vector<std::string> all = pages;
        all.emplace_back("app/tour.md");
        for (const std::string& name : all) {
            if (name == "data/formats.md" || name.starts_with("tests/")) continue;
            for (const std::string& command : commands_in_prose(page(name))) {
                if (slow.contains(command)) continue;
                INFO(name << ": " << command);
                const auto code = codes.find(command);
                const program::Result result = program::shell(there + filled_in(command));
                CHECK_MESSAGE(result.exit_code == (code == codes.end() ? 0 : code->second),
                              result.err);
                ++count;
            }
        }
        CHECK(count > 80);
    }

    TEST_CASE("every link between the pages leads to a file") {
        std::size_t count = 0;
        for (const std::string& name : pages) {
            const std::string text = page(name);
            const auto folder = std::filesystem::path(ATTN_SOURCE_DIR "/" + name).parent_path();
            for (std::size_t at = text.find("]("); at != std::string::npos;
                 at = text.find("](", at + 2)) {
                const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
                if (target.find(' ') != std::string::npos) continue;  // a lambda in C++
                CHECK_MESSAGE(std::filesystem::exists(folder / target), name << ": " << target);
                ++count;
            }
        }
        CHECK(count >= 8);
    }

    TEST_CASE("the first two sh lines are the two commands") {
        const std::string readme = page("README.md");
        const std::size_t block = readme.find("```sh\n");
        REQUIRE(block != std::string::npos);
        std::istringstream lines(readme.substr(block + 6));
        std::string run_line;
        std::string test_line;
        std::getline(lines, run_line);
        std::getline(lines, test_line);
        CHECK(run_line.find("build/release/app/attn-explain") != std::string::npos);
        const std::string ci = program::read_file(ATTN_SOURCE_DIR "/.ci/run");
        CHECK_MESSAGE(ci.find("\n" + test_line + "\n") != std::string::npos,
                      ".ci/run does not call: " << test_line);
    }

    TEST_CASE("no number shown is so close to rounding that another BLAS prints another digit") {
        std::vector<std::string> walks{"attn-explain --from x"};
        for (const std::string& name : pages) {
            for (const Example& example : examples_of(page(name))) {
                const std::string& command = example.command;
                // The digits of loop are the same on every machine, and those of a replay are its
                // notebook's.
                const bool is_walk = command.rfind("attn-explain --", 0) == 0 &&
                                     command.find("--list-") == std::string::npos &&
                                     command.find(" | ") == std::string::npos;
                if (is_walk && command.find("--variant loop") == std::string::npos) {
                    walks.push_back(command);
                }
            }
        }
        CHECK(walks.size() > 4);
        for (const std::string& walk : walks) {
            INFO(walk);
            const bool numpy = walk.find("--rng numpy") != std::string::npos;
            const auto exact = nlohmann::json::parse(
                program::shell(walk + " --compute-dtype float64 --format json").out);
            for (const auto& step : exact.at("steps")) {
                if (step.at("dtype") != "float64") continue;
                CAPTURE(step.at("name"));
                check_far_from_rounding(step.at("data"), numpy ? 1e8 : 1e4);
            }
        }
    }

    TEST_CASE("the programs that use the libraries are those that the tests build and run") {
        for (const auto& [name, source] :
             {std::pair{"README.md", "main.cpp"}, std::pair{"judge/README.md", "judge.cpp"},
              std::pair{"models/README.md", "models.cpp"}}) {
            CAPTURE(name);
            const std::string code = page(std::string("tests/consumer/") + source);
            CHECK(page(std::string("lib/attn/") + name).find("```cpp\n" + code + "```\n") !=
                  std::string::npos);
        }
    }
}
