#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: compare") {
    TEST_CASE("the two variants agree except for rounding") {
        const program::Result result = run("compare loop vectorized --heads 2 --mask causal");
        CHECK(result.exit_code == 0);
        CHECK(result.out.find("rounding explains every difference") != std::string::npos);
    }
    TEST_CASE("different settings are found at the first step they touch") {
        const program::Result result =
            run("compare loop '--variant loop --scale embed-dim' --heads 2 --json");
        CHECK(result.exit_code == 1);
        const auto comparison = nlohmann::json::parse(result.out);
        CHECK(comparison.at("first_difference") == "scaled_scores");
        for (const auto& step : comparison.at("steps")) {
            if (step.at("name") == "scores") CHECK(step.at("max_abs") == 0);
            // sqrt(4) instead of sqrt(8)
            if (step.at("name") == "scaled_scores") {
                CHECK(step.at("max_rel").get<double>() ==
                      doctest::Approx(std::sqrt(2.0) - 1).epsilon(1e-6));
            }
        }
    }
    TEST_CASE("16 bits against more digits: each step is judged by the tensors of its own walk") {
        const std::string walk = "--heads 2 --mask causal --rope half --qk-norm head ";
        for (const std::string type : {"float16", "bfloat16"}) {
            const std::string half = "'" + walk + "--compute-dtype " + type;
            const program::Result same = run("compare '" + walk + "' " + half + "'");
            CHECK_MESSAGE(same.exit_code == 0, same.out);
            CHECK(same.out.find("rounding explains every difference") != std::string::npos);
            const auto other = nlohmann::json::parse(
                run("compare --json " + half + " --scale 0.72' '" + walk + "'").out);
            CHECK(other.at("first_difference") == "scaled_scores");
            for (const auto& step : other.at("steps")) {
                const std::string name = step.at("name");
                const bool comes_after = name == "weights" || name == "context";
                if (name == "value" || comes_after) CHECK(step.at("equal") == !comes_after);
            }
        }
        CHECK(run("compare '' '--compute-dtype float16 --scale 1e6'").exit_code == 1);
    }
    TEST_CASE("the words that differ come first") {
        const std::string two =
            run("compare \"--text 'the big dog'\" \"--text 'the small dog'\"").out;
        CHECK_MESSAGE(
            two.starts_with("token 1 is 'big' in the first and 'small' in the second\nstep"), two);
        CHECK(run("compare loop vectorized").out.starts_with("step"));
        CHECK(run("compare \"--text 'a b c d e'\" \"--text 'f g h i j'\"")
                  .out.starts_with("5 tokens differ\n"));
    }
    TEST_CASE("a file is compared with a run, and a tolerance can be given") {
        const program::Folder folder;
        const std::string file = folder / "run.json";
        REQUIRE(run("--variant loop --format json -o " + file).exit_code == 0);
        CHECK(run("compare loop " + file + " --atol 0 --rtol 0").exit_code == 0);
        CHECK(run("compare '--seed 43' " + file).exit_code == 1);
        CHECK(run("compare '--seed 43' " + file + " --atol 1000").exit_code == 0);
        CHECK(run("compare loop " + file + " --atol -1").exit_code == 2);
    }
}
