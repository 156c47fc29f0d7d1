// Harmless differences, alone and together with a mistake.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/settings/settings.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

const Mistake& harmless_difference(const std::string& id) {
    for (const Mistake& entry : harmless_differences()) {
        if (entry.id == id) return entry;
    }
    FAIL("no harmless difference " << id);
    return harmless_differences().front();
}

}  // namespace

TEST_SUITE("explain: diagnose what is harmless") {
    TEST_CASE("other ways to write the same attention are harmless") {
        WalkConfig config = causal_config();
        config.mask.padding = true;
        configure(config, "lengths 5,3,5, bias, output-projection");
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const auto harmless = [&](const StepTable& table, const std::string& id) {
            INFO(id);
            const Diagnosis diagnosis =
                diagnose(plan, given, computed_steps(walk(plan, given, table)));
            REQUIRE_FALSE(diagnosis.findings.empty());
            CHECK(is_named(diagnosis.findings.front(), id));
            for (const Finding& finding : diagnosis.findings) CHECK(finding.harmless);
            CHECK_FALSE(diagnosis.has_mistake());
        };
        for (const Mistake& entry : harmless_differences()) {
            if (!entry.applies(plan) || entry.id == "empty-rows-zero") continue;
            harmless(entry.apply(step_table(plan), plan), entry.id);
        }
        harmless(with_mistakes(step_table(plan), plan, {"bias-missing=key"}), "bias-missing=key");
    }

    TEST_CASE("a mistake is named beside any harmless difference, from the output alone") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        for (const Mistake& harmless : harmless_differences()) {
            if (!harmless.applies(plan)) continue;
            const StepTable table = find_mistake("causal-diag-minus1")
                                        .apply(harmless.apply(step_table(plan), plan), plan);
            Ledger user_tensors;
            user_tensors.record("merged", walk(plan, given, table)["merged"]);
            const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
            INFO(harmless.id);
            CHECK(names(diagnosis, find_mistake("causal-diag-minus1")));
            CHECK_FALSE(diagnosis.findings.front().harmless);
        }
    }

    TEST_CASE("a finite fill is not harmless if it makes a fully masked row even") {
        WalkConfig config = causal_config();
        config.mask.padding = true;
        config.lengths = {5, 0, 5};
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const StepTable table =
            harmless_difference("finite-fill=-1e9").apply(step_table(plan), plan);
        const Diagnosis diagnosis = diagnose(plan, given, computed_steps(walk(plan, given, table)));
        REQUIRE_FALSE(diagnosis.findings.empty());
        CHECK(is_named(diagnosis.findings.front(), "fully-masked-row"));
        CHECK(diagnosis.has_mistake());
    }

    TEST_CASE("any finite fill is judged by the weights that it gives") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        const auto filled = [&](double fill) {
            Ledger user_tensors;
            Tensor masked = walk(plan, given)["masked_scores"];
            Array<float> cells = masked.as<float>();
            for (float& cell : cells) {
                if (std::isinf(cell)) cell = static_cast<float>(fill);
            }
            user_tensors.record("masked_scores", {masked.axes(), cells});
            return diagnose(plan, given, user_tensors);
        };
        for (const double fill : {-1e20, -9e15, -4294967295.0, -1e8, -65504.0, -1.7e38, -1e4}) {
            const Diagnosis found = filled(fill);
            INFO(fill);
            REQUIRE(found.findings.size() == 1);
            CHECK(found.findings.front().mistake() != nullptr);
            CHECK(found.findings.front().harmless);
            CHECK_FALSE(diagnosis_text(found).find("<- first") != std::string::npos);
        }
        CHECK(filled(1e9).findings.front().mistake()->id == "mask-sign=1e9");
        CHECK(filled(1e5).findings.front().mistake()->id == "mask-sign=1e5");
        CHECK(filled(-7).findings.front().mistake()->id == "mask-fill-too-small=-7");
        CHECK_FALSE(filled(-7).findings.front().harmless);
        for (const char* id : {"finite-fill=-9e15", "mask-sign=1e5", "mask-fill-too-small=-7"}) {
            CHECK(find_mistake(id).id == id);
        }
    }
}
