// Somebody's own code of a published attention, held to its file.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/plan/attention_file.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// What is done otherwise in a loop over tokens as people write it.
struct Retention {
    bool forgets_late = false, carries_on = false, scales = true, reads_before = false;
    double first_decay = 5;
};

constexpr const char* file =
    "attention mine\n"
    "step decay[h] = 1 - 2 ^ (-5 - h)\n"
    "step state[h,t,f,g] = (if t == 0 then 0 else decay[h] * state[h,t - 1,f,g]) + "
    "keys[h,t,f] * values[h,t,g]\n"
    "step context[h,t,g] = (sum f: queries[h,t,f] * state[h,t,f,g]) / scale\n"
    "mistake forget-late at state\n"
    "  rule state[h,t,f,g] = decay[h] * ((if t == 0 then 0 else state[h,t - 1,f,g]) + "
    "keys[h,t,f] * values[h,t,g])\n"
    "  title The state fades after the token was added\n";

/// Its context, from query, key and value of (batch, head, token, feature).
Tensor context_of(const Ledger& walk, const Retention& how) {
    const Tensor &query = walk["query"], &key = walk["key"], &value = walk["value"];
    const Shape shape = query.shape();
    const std::size_t heads = shape[1], tokens = shape[2], width = shape[3];
    Array<float> context = empty_array<float>(shape);
    for (std::size_t head = 0; head < heads; ++head) {
        const double decay = 1 - std::pow(2, -how.first_decay - static_cast<double>(head));
        std::vector<double> state(width * width);
        for (std::size_t sample = 0; sample < shape[0]; ++sample) {
            if (!how.carries_on) state.assign(width * width, 0);
            for (std::size_t t = 0; t < tokens; ++t) {
                const std::size_t row = ((sample * heads + head) * tokens + t) * width;
                const std::vector<double> before = state;
                for (std::size_t i = 0; i < state.size(); ++i) {
                    const double written = key.at(row + i / width) * value.at(row + i % width);
                    state[i] = how.forgets_late ? decay * (state[i] + written)
                                                : decay * state[i] + written;
                }
                for (std::size_t g = 0; g < width; ++g) {
                    double sum = 0;
                    for (std::size_t f = 0; f < width; ++f) {
                        sum +=
                            query.at(row + f) * (how.reads_before ? before : state)[f * width + g];
                    }
                    context.data()[row + g] =
                        static_cast<float>(how.scales ? sum / std::sqrt(width) : sum);
                }
            }
        }
    }
    return {query.axes(), std::move(context)};
}

Diagnosis diagnosed(const Retention& how) {
    WalkConfig config = causal_config();
    config.attentions = {std::make_shared<const AttentionFile>(parse_attention(file, "mine.attn"))};
    const Plan plan = resolve(config);
    const Ledger given = draw(plan);
    Ledger theirs;
    theirs.record("out", context_of(walk(plan, given), how));
    DiagnoseOptions options;
    options.has_all_inputs = true;
    return diagnose(plan, given, theirs, options);
}

}  // namespace

TEST_SUITE("explain: diagnose attentions") {
    TEST_CASE("right code is right, and a mistake of the file is named by its result alone") {
        CHECK(diagnosed({}).findings.empty());
        const Diagnosis late = diagnosed({.forgets_late = true});
        REQUIRE(late.findings.size() == 1);
        CHECK(is_named(late.findings[0], "forget-late"));
    }
    TEST_CASE("what no entry says is told as the rule that it follows") {
        const std::vector<std::pair<Retention, std::string>> cases{
            {{.carries_on = true}, "if t == 0 and b > 0 then decay[h] * state[b - 1,h,4,f,g]"},
            {{.scales = false}, "context[b,h,t,g] = sum f: query[b,h,t,f] * state[b,h,t,f,g]"},
            {{.reads_before = true}, "if t == 0 then 0 else state[b,h,t - 1,f,g]"},
            {{.first_decay = 6}, "decay[h] = 1 - 2^(-5 - h - 1)"}};
        for (const auto& [how, rule] : cases) {
            const Diagnosis diagnosis = diagnosed(how);
            INFO(rule);
            REQUIRE(diagnosis.findings.size() == 1);
            INFO(diagnosis.findings[0].follows);
            CHECK(diagnosis.findings[0].follows.find(rule) != std::string::npos);
        }
    }
}
