// The README's examples are run, and what they print is compared byte for byte.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.hpp"

namespace {

struct Example {
    std::string command;
    std::string output;
};

/// The commands (`$ ...`) of the console blocks of a page, each with the lines that follow it.
std::vector<Example> examples_of(const std::string& page) {
    std::istringstream lines(page);
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

/// Fails for a number whose next digit might be rounded either way. The walks compute in float32,
/// where sums of a few products of about 1 are off by about 1e-7: a thousandth of the last of four
/// digits. NumPy's eight digits are of float64, which is far more exact.
void check_far_from_rounding(const nlohmann::json& data, double last_digit) {
    if (data.is_array()) {
        for (const auto& part : data) check_far_from_rounding(part, last_digit);
    } else {
        const double scaled = data.get<double>() * last_digit;
        const double to_rounding = std::abs(scaled - std::floor(scaled) - 0.5);
        CHECK_MESSAGE(to_rounding > 0.001, data);
    }
}

const std::string readme = program::read_file(ATTN_SOURCE_DIR "/README.md");

}  // namespace

TEST_SUITE("app: README") {
    TEST_CASE("every example prints what the page shows") {
        const std::vector<Example> examples = examples_of(readme);
        CHECK(examples.size() >= 5);
        for (const Example& example : examples) {
            INFO(example.command);
            const program::Result result = program::shell(example.command);
            CHECK(result.exit_code == 0);
            CHECK(result.out == example.output);
        }
    }

    TEST_CASE("the first two sh lines are the two commands") {
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

    TEST_CASE("no number shown is so near to rounding that another BLAS shows another digit") {
        std::vector<std::string> walks{"attn-explain --from x"};
        for (const Example& example : examples_of(readme)) {
            // A loop's digits are the same everywhere, and a replay's are its notebook's.
            const bool is_walk = example.command.rfind("attn-explain --", 0) == 0;
            if (is_walk && example.command.find("--variant loop") == std::string::npos) {
                walks.push_back(example.command);
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

    TEST_CASE("the program that uses the library is the one that the tests build and run") {
        const std::string consumer = program::read_file(ATTN_SOURCE_DIR "/tests/consumer/main.cpp");
        CHECK(readme.find("```cpp\n" + consumer + "```\n") != std::string::npos);
    }
}
