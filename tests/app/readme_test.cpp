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

    TEST_CASE("no number of the default walk is so near to rounding that another BLAS shows it") {
        const auto exact = nlohmann::json::parse(
            program::run("--compute-dtype float64 --format json --from x").out);
        for (const auto& step : exact.at("steps")) {
            if (step.at("dtype") != "float64") continue;
            for (const auto& row : step.at("data")) {
                if (!row.is_array()) continue;
                for (const auto& cell : row) {
                    const double ten_thousandths = cell.get<double>() * 1e4;
                    const double to_rounding =
                        std::abs(ten_thousandths - std::floor(ten_thousandths) - 0.5);
                    // 1e-7, far more than the rounding of sums of six products below 1
                    CHECK_MESSAGE(to_rounding > 0.001, step.at("name") << " " << cell);
                }
            }
        }
    }
}
