#include <doctest/doctest.h>

#include <cmath>

#include "tests/judge/diagnose/diagnosed.hpp"

// Small differences: rounding to few digits, or a mistake?

namespace attn::testing {
namespace {

WalkConfig direct(const std::string& more, const char* type = "float64") {
    return configured("projection none, heads 2, seq-len 6, head-dim 8, embed-dim 16, dtype " +
                      std::string(type) + more);
}

/// The weights and the context of a walk under other settings, or made by a rule.
Diagnosis diagnosed_as(const std::string& requested, const std::string& actual,
                       const std::vector<std::string>& steps, const char* type) {
    const Plan result = resolve(direct(actual, type));
    const Ledger given = draw(result);
    const Ledger walked = walk(result, given);
    Ledger saved;
    for (const std::string& step : steps) saved.record(step, walked[step]);
    return diagnose(resolve(direct(requested, type)), given, saved);
}

}  // namespace
}  // namespace attn::testing

using namespace attn;
using namespace attn::testing;

TEST_SUITE("judge: diagnose digits") {
    TEST_CASE(
        "another eps of the norms is named by its number, in query and key or in the weights") {
        for (const char* type : {"float32", "float64"}) {
            for (const bool all : {true, false}) {
                std::vector<std::string> steps{"weights", "context"};
                if (all) steps.insert(steps.begin(), {"normed_query", "normed_key"});
                const Diagnosis found =
                    diagnosed_as(", qk-norm head", ", qk-norm head, norm-eps 1e-3", steps, type);
                CAPTURE(diagnosis_text(found));
                REQUIRE(found.findings.size() == 1);
                CHECK(is_named(found.findings[0], "norm-eps=1e-3"));
                CHECK_FALSE(found.findings[0].harmless);
            }
        }
    }

    TEST_CASE("an unrequested soft cap is not called rounding, nor another scale") {
        for (const char* type : {"float32", "float64"}) {
            for (const std::vector<std::string>& steps :
                 {std::vector<std::string>{"weights", "context"}, {"context"}}) {
                const Diagnosis found = diagnosed_as("", ", softcap 20", steps, type);
                CAPTURE(diagnosis_text(found));
                CHECK_FALSE(found.has_mistake());
                CHECK((found.has_unknown() || !found.open.empty()));
            }
        }
    }

    TEST_CASE("numbers that are right to 2 or 3 digits are a question if they have more") {
        const Plan plan = resolve(direct("", "float32"));
        const Ledger given = draw(plan);
        const Tensor right = walk(plan, given)["context"];
        Array<float> cells = right.as<float>();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] *= 1 + 4e-4F * std::sin(static_cast<float>(17 * i * i));
        }
        Ledger saved;
        saved.record("context", {right.axes(), std::move(cells)});
        const Diagnosis found = diagnose(plan, given, saved);
        CHECK_MESSAGE(found.findings.empty(), diagnosis_text(found));
        REQUIRE(found.open.size() == 1);
        CHECK(found.open[0].find("stored with more digits") != std::string::npos);
    }
}
