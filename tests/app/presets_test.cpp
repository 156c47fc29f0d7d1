// --preset: the settings of a family of models.
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

using namespace program;

namespace {

struct Family {
    std::string name, flags;
};

/// As --list-presets prints them: a line with the name, and one with the flags.
std::vector<Family> families() {
    std::istringstream lines(run("--list-presets").out);
    std::vector<Family> all;
    for (std::string line, flags; std::getline(lines, line) && std::getline(lines, flags);) {
        all.push_back({line.substr(0, line.find(' ')), flags.substr(flags.find("--"))});
    }
    return all;
}

}  // namespace

TEST_SUITE("app: presets") {
    TEST_CASE("every family runs without a message on standard error, in every variant") {
        CHECK(families().size() >= 5);
        for (const Family& family : families()) {
            for (const char* variant : {"loop", "vectorized", "fused"}) {
                INFO(family.name << " " << variant);
                const Result result = run("--preset " + family.name +
                                          " --seq-len 7 --only output -q --variant " + variant);
                CHECK(result.exit_code == 0);
                CHECK_MESSAGE(result.err.empty(), result.err);
                CHECK(result.out.starts_with("tensor(["));
            }
        }
    }

    TEST_CASE("a preset stands for its flags, and flags given with it win in any order") {
        for (const Family& family : families()) {
            INFO(family.name);
            const std::string reported = run("--seq-len 5 --only output -q " + family.flags).out;
            CHECK(run("--seq-len 5 --only output -q --preset " + family.name).out == reported);
        }
        const std::string many =
            run("--seq-len 3 --kv-heads 6 --list-steps --preset mistral --mask none").out;
        CHECK(many.find("repeated_key") == std::string::npos);
        CHECK(many.find("masked_scores") == std::string::npos);
        CHECK(many.find("rotated_key") != std::string::npos);
    }

    TEST_CASE("a preset's setting without a value is switched off by =false") {
        const std::string without =
            run("--seq-len 3 --list-steps --preset gpt2 --bias=false --output-projection=false "
                "--output-bias=false")
                .out;
        CHECK(without.find("b_qkv") == std::string::npos);
        CHECK(without.find("w_output") == std::string::npos);
        CHECK(without.find("w_qkv") != std::string::npos);
        CHECK(run("--bias=false --seq-len 3 --preset gpt2 --only output -q").out ==
              run("--preset gpt2 --seq-len 3 --only output -q --bias --bias=false").out);
        CHECK(run("--bias=true -q").out == run("--bias -q").out);
        CHECK(run("--bias=false -q").out == run("-q").out);
        CHECK(run("--heads 2 --embed-dim 4 --merge=false -q").out ==
              run("--heads 2 --embed-dim 4 --no-merge -q").out);
    }
}
