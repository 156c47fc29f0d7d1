#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/judge/compare/precision.hpp"

using namespace attn;

namespace {

std::vector<FormPrecision> precision(const std::string& name, const std::string& settings) {
    WalkConfig config = configured(settings);
    config.attentions = {
        std::make_shared<const AttentionFile>(parse_attention(shipped_attention(name), name))};
    const Plan plan = resolve(config);
    return precision_of_forms(plan, *config.attentions[0]);
}

double lost(const FormPrecision& form, const std::string& step, std::int64_t tokens) {
    for (std::size_t i = 0; i < form.steps.size(); ++i) {
        if (form.steps[i] == step) return form.lost.at(tokens)[i];
    }
    return -1;
}

}  // namespace

TEST_SUITE("compare: precision") {
    TEST_CASE("a state in bfloat16 loses digits with its length, weights do not") {
        const auto forms = precision("retention", "heads 2, mask causal, compute-dtype bfloat16");
        REQUIRE(forms.size() == 3);
        CHECK(lost(forms[0], "decay", 64) == 0);
        CHECK(lost(forms[0], "weights", 1024) < 0.3);
        CHECK(lost(forms[1], "state", 64) > 0.2);
        CHECK(lost(forms[1], "context", 1024) > lost(forms[1], "context", 64) + 0.2);
        CHECK(lost(forms[1], "context", 1024) > lost(forms[0], "context", 1024) + 0.5);
    }
    TEST_CASE("float64 loses nothing, and a walk whose inputs are given is skipped") {
        const auto forms = precision("retention", "heads 2, mask causal, compute-dtype float64");
        CHECK(lost(forms[1], "context", 256) == 0);
        const auto given = precision("retention", "heads 2, memory-len 4, compute-dtype bfloat16");
        CHECK(given[0].lost.empty());
        CHECK(given[0].skipped.size() == 3);
    }
}
