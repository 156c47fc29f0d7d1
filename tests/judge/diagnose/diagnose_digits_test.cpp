#include <doctest/doctest.h>

#include <cmath>

#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/mistakes/mistake.hpp"
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

/// Diagnoses steps of a walk with a mistake, saved in some type, by someone who knows the settings.
Diagnosis diagnosed_in(DType type, const WalkConfig& config, const std::string& id,
                       const std::vector<std::string>& steps) {
    const Plan plan = resolve(config);
    const Ledger given = draw(plan);
    const Ledger wrong = walk(plan, given, with_mistakes(step_table(), plan, {id}));
    Ledger saved;
    for (const std::string& step : steps) saved.record(step, cast(wrong[step], type));
    return diagnose(plan, given, saved);
}

WalkConfig with_padding() {
    WalkConfig config =
        configured("heads 4, batch 2, seq-len 9, embed-dim 32, output-projection, mask padding");
    config.lengths = {9, 6};
    return config;
}
constexpr const char* in_16_bits =
    "projection none, heads 2, batch 2, seq-len 6, embed-dim 16, mask causal";

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

    TEST_CASE(
        "a mistake is named though the worst rounding could explain each cell of the output") {
        const auto found =
            diagnosed_in(DType::float32, with_padding(), "mask-fill-too-small=-10", {"output"});
        CAPTURE(diagnosis_text(found));
        REQUIRE(found.has_mistake());
        CHECK(is_named(found.findings[0], "mask-fill-too-small=-10"));
        const auto half =
            diagnosed_in(DType::float16,
                         configured("heads 2, batch 2, seq-len 6, embed-dim 16, mask causal, "
                                    "output-projection, bias"),
                         "bias-missing=query", {"output"});
        CAPTURE(diagnosis_text(half));
        REQUIRE(half.has_mistake());
        CHECK(is_named(half.findings[0], "bias-missing=query"));
    }

    TEST_CASE(
        "the worst rounding in 16 bits makes no earlier mistake harmless, and hides no number") {
        const WalkConfig config = configured(
            "heads 2, batch 2, seq-len 6, embed-dim 16, mask causal, output-projection, bias");
        const auto missing =
            diagnosed_in(DType::float16, config, "bias-missing=query", {"query", "output"});
        CAPTURE(diagnosis_text(missing));
        REQUIRE(missing.has_mistake());
        CHECK(is_named(missing.findings[0], "bias-missing=query"));
        const auto turned = diagnosed_in(
            DType::float16, configured("heads 2, seq-len 9, embed-dim 16, rope half, bias"),
            "rope-theta=500", {"context"});
        CAPTURE(diagnosis_text(turned));
        REQUIRE(turned.has_mistake());
        CHECK(turned.findings[0].mistake()->id.starts_with("rope-theta"));
    }

    TEST_CASE("a norm of x that was left out, or is of the other kind, is named from the output") {
        for (const auto& [norm, id] : {std::pair{"layer", "x-norm-missing"},
                                       {"rms", "x-norm-missing"},
                                       {"layer", "x-norm-kind=rms"},
                                       {"rms", "x-norm-kind=layer"}}) {
            const WalkConfig config = configured(
                "random randn, heads 2, seq-len 6, embed-dim 16, output-projection, "
                "x-norm " +
                std::string(norm));
            const auto found = diagnosed_in(DType::float32, config, id, {"output"});
            CAPTURE(diagnosis_text(found));
            REQUIRE(found.has_mistake());
            CHECK(is_named(found.findings[0], id));
        }
    }

    TEST_CASE("a known scale is named in 16 bits, not the number that was fitted to it") {
        for (const char* id : {"scale-dmodel", "scale-seq-len", "softmax-base-two"}) {
            const auto found =
                diagnosed_in(DType::bfloat16, configured(in_16_bits), id, {"context"});
            CAPTURE(diagnosis_text(found));
            REQUIRE(found.has_mistake());
            CHECK(is_named(found.findings[0], id));
        }
    }

    TEST_CASE("rounding leaves an exact 0, so a fill of hidden cells shows in 16 bits") {
        const auto found = diagnosed_in(DType::bfloat16, configured(in_16_bits),
                                        "mask-fill-too-small=-10", {"weights", "context"});
        CAPTURE(diagnosis_text(found));
        REQUIRE(found.has_mistake());
        CHECK(found.findings[0].mistake()->id == "mask-fill-too-small=-10");
        const auto added = diagnosed_in(DType::bfloat16, configured(in_16_bits),
                                        "mask-added-bool=hidden", {"masked_scores", "weights"});
        CAPTURE(diagnosis_text(added));
        REQUIRE(added.has_mistake());
        CHECK(added.findings[0].mistake()->id == "mask-added-bool=hidden");
    }

    TEST_CASE("a context without a division is not right under the name of a context") {
        const auto found =
            diagnosed_in(DType::float32, configured(in_16_bits), "softmax-sum=none", {"context"});
        CAPTURE(diagnosis_text(found));
        REQUIRE(found.has_mistake());
        CHECK(is_named(found.findings[0], "softmax-sum=none"));
    }

    TEST_CASE("an output whose errors are a hundred times the usual ones is a question") {
        const Plan plan = resolve(with_padding());
        const Ledger given = draw(plan);
        const Tensor right = walk(plan, given)["output"];
        Ledger saved;
        saved.record("output", mapped(right, [i = 0](double cell) mutable {
                         return cell + 1e-5 * std::sin(17.0 * i++);
                     }));
        const Diagnosis found = diagnose(plan, given, saved);
        CAPTURE(diagnosis_text(found));
        CHECK(found.findings.empty());
        REQUIRE(found.open.size() == 1);
        CHECK(found.open[0].find("times smaller") != std::string::npos);
        saved = {};
        saved.record("output", right);
        CHECK(diagnose(plan, given, saved).open.empty());
    }

    TEST_CASE("decimals of float32 numbers are seen in float64, as JSON stores them") {
        const Plan plan = resolve(direct("", "float32"));
        const Ledger walked = walk(plan, draw(plan));
        Ledger saved;
        for (const char* step : {"query", "key", "value", "weights", "context"}) {
            const auto printed = [](double cell) {
                return static_cast<double>(static_cast<float>(std::round(cell * 1e4) / 1e4));
            };
            saved.record(step, mapped(cast(walked[step], DType::float64), printed));
        }
        CHECK(decimals_of(saved) == 4);
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
