#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: why") {
    TEST_CASE("a weight is derived from its score, its row and its use, within 25 lines") {
        const program::Result result = run("why 'weights[short,eat]' --variant loop");
        CHECK(std::count(result.out.begin(), result.out.end(), '\n') <= 25);
    }
    TEST_CASE("with more depth it goes back to the input, and JSON contains the same numbers") {
        const std::string deep = run("why 'weights[0,1]' --depth 5 --variant loop").out;
        CHECK(deep.find("embedding[5,0]") != std::string::npos);
        const auto json = nlohmann::json::parse(run("why 'scores[0,1]' --json --variant loop").out);
        double sum = json.at("rounding");
        for (const auto& term : json.at("terms")) sum += term.at("value").get<double>();
        CHECK(sum == doctest::Approx(json.at("value").get<double>()).epsilon(1e-15));
        const auto walk =
            nlohmann::json::parse(run("--format json --variant loop --only 'scores[0,1]'").out);
        CHECK(static_cast<float>(walk.at("steps").at(0).at("data").get<double>()) ==
              static_cast<float>(json.at("value").get<double>()));
    }
    TEST_CASE("what if: the same row under another setting") {
        const std::string text =
            run("why 'weights[0,3]' --mask causal --what-if mask=none --what-if scale=none").out;
        CHECK(text.find("what if mask=none: row 0.1740") != std::string::npos);
        CHECK(text.find("what if scale=none: row 1.0000") != std::string::npos);
    }
}
