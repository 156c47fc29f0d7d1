#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.hpp"

using program::check_refused;
using program::run;

namespace {

nlohmann::json tolerances(const std::string& flags) {
    const program::Result result = run("tolerance --json " + flags);
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return nlohmann::json::parse(result.out);
}

double rtol_of(const nlohmann::json& all, const std::string& step) {
    for (const auto& each : all.at("steps")) {
        if (each.at("name") == step) return each.at("rtol");
    }
    FAIL(step);
    return 0;
}

}  // namespace

TEST_SUITE("app: tolerance") {
    TEST_CASE("each step has a tolerance and a reason, within 80 columns") {
        const program::Result result =
            run("tolerance --heads 2 --rope half --mask causal --step weights");
        CHECK(result.exit_code == 0);
        std::istringstream lines(result.out);
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            CHECK(line.size() <= 80);
        }
        CHECK(result.out.find("torch.testing.assert_close(yours, expected, atol=") !=
              std::string::npos);
        CHECK(result.out.find("\nA test of weights, from the inputs:\n") != std::string::npos);
    }

    TEST_CASE("an attention that lacks a step read by a mistake has tolerances too") {
        const program::Folder folder;
        const std::string file = folder / "mine.attn";
        std::ofstream(file) << "attention mine\nbegins --mask causal\n"
                               "step weights[h,q,k] = exp(0 - abs(q - k))\n";
        const auto result = run("tolerance --attention " + file);
        CHECK_MESSAGE(result.exit_code == 0, result.err);
        CHECK(result.out.find("known mistakes") != std::string::npos);
    }

    TEST_CASE("fewer digits and longer sums allow more, and hide more") {
        const auto one = tolerances("--seq-len 8 --embed-dim 8");
        const auto brain = tolerances("--seq-len 8 --embed-dim 8 --compute-dtype bfloat16");
        const auto long_sums = tolerances("--seq-len 8 --embed-dim 256");
        CHECK(rtol_of(brain, "weights") > 1000 * rtol_of(one, "weights"));
        CHECK(rtol_of(long_sums, "query") > rtol_of(one, "query"));
        CHECK(brain.at("hides").at("factor") > one.at("hides").at("factor"));
        const char* const certain = "mistakes_certain";
        CHECK(brain.at("hides").at(certain).size() > one.at("hides").at(certain).size());
        CHECK(one.at("step") == "context");
    }

    TEST_CASE("in 16 bits the usual tolerance of a walk catches what the certain one lets pass") {
        const std::string walk = "--heads 4 --seq-len 16 --embed-dim 32 --dtype bfloat16 ";
        const auto half = tolerances(walk + "--compute-dtype bfloat16 --mask causal");
        CHECK(half.at("step") == "context");  // merged is a copy of it
        const auto& hides = half.at("hides");
        const std::size_t usual = hides.at("mistakes").size();
        CHECK(10 * usual <= hides.at("detected"));
        CHECK(hides.at("mistakes_certain").size() > 10 + usual);
        const auto row = half.at("steps").at(half.at("steps").size() - 2);
        CHECK(row.at("name") == "context");
        CHECK(row.at("atol_usual") < 0.2 * row.at("atol").get<double>());
        CHECK(row.at("rtol_usual") > 0.004);  // a rounding of one number
    }

    TEST_CASE("digits are certain if the bound beside them allows, in text and Markdown") {
        const std::string walk = "--compute-dtype bfloat16 --only 'weights[0,:2]' --precision 6 ";
        // 0.173828 +- 0.0030 and 0.162109 +- 0.0030
        const std::string text = run(walk + "--digits certain -q").out;
        CHECK(text.starts_with("tensor([0.17[3828], 0.1[62109]], dtype=torch.bfloat16)\n"));
        const std::string page = run(walk + "--digits certain --format markdown").out;
        CHECK(page.find(text.substr(0, text.find('\n'))) != std::string::npos);
        for (const char* other : {"--json", "--heatmap", "--summary", "--format ipynb"}) {
            CAPTURE(other);
            CHECK(run(walk + "--digits certain " + other).err.find("--digits has no effect") !=
                  std::string::npos);
        }
    }

    TEST_CASE("a step that is not computed is refused") {
        check_refused("tolerance --step x", "--step x is not a step that is computed here");
        check_refused("tolerance --step masked_scores", "choose one of");
    }
}
