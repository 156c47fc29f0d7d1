// A user's own code of a published attention, compared with its file.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/plan/attention_file.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// Deviations from the paper in a loop over tokens, as people write it.
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
    Ledger user_tensors;
    user_tensors.record("out", context_of(walk(plan, given), how));
    DiagnoseOptions options;
    options.has_all_inputs = true;
    return diagnose(plan, given, user_tensors, options);
}

/// Attention with a slope and a window per head, as a user might write it.
struct Sloped {
    bool exchanges = false, takes_elu = false, reads_other_head = false, fills_with_zero = false;
};

constexpr const char* sloped_file =
    "attention sloped\n"
    "parameter slope[h] = 0.3 + 0.2 * h\n"
    "parameter base[h] = 1.5 + h\n"
    "step plain[h,q,k] = (sum f: relu(queries[h,q,f]) * relu(keys[h,k,f])) * queries[0,q,0]\n"
    "step kept[h,q,k] = if abs(q - k) < 3 then plain[h,q,k] - slope[h] * log(base[h] + abs(q - k)) "
    "else -inf\n"
    "step weights[h,q,k] = exp(kept[h,q,k]) / sum j: exp(kept[h,q,j])\n";

Tensor weights_of(const Ledger& walk, const Sloped& how) {
    const Tensor &query = walk["query"], &key = walk["key"];
    const Shape shape = query.shape();
    const std::size_t heads = shape[1], tokens = shape[2], width = shape[3];
    Array<float> weights = empty_array<float>({shape[0], heads, tokens, tokens});
    const auto relu = [&](double x) {
        if (how.takes_elu) return x > 0 ? x + 1 : std::exp(x);
        return x > 0 ? x : 0;
    };
    for (std::size_t row = 0; row < shape[0] * heads * tokens; ++row) {
        const std::size_t sample = row / tokens / heads, h = row / tokens % heads, q = row % tokens;
        double slope = 0.3 + 0.2 * static_cast<double>(h), base = 1.5 + static_cast<double>(h);
        if (how.exchanges) std::swap(slope, base);
        std::vector<double> scores(tokens);
        double sum = 0;
        for (std::size_t k = 0; k < tokens; ++k) {
            const double distance = std::abs(static_cast<double>(q) - static_cast<double>(k));
            const std::size_t other = sample * heads + (how.reads_other_head ? 1 : 0);
            double score = 0;
            for (std::size_t f = 0; f < width; ++f) {
                score += relu(query.at(row * width + f)) *
                         relu(key.at((row / tokens * tokens + k) * width + f));
            }
            score *= query.at((other * tokens + q) * width);
            score -= slope * std::log(base + distance);
            if (distance >= 3) score = how.fills_with_zero ? 0 : -HUGE_VAL;
            sum += scores[k] = std::exp(score);
        }
        for (std::size_t k = 0; k < tokens; ++k) {
            weights.data()[row * tokens + k] = static_cast<float>(scores[k] / sum);
        }
    }
    return {{"batch", "head", "query", "key"}, std::move(weights)};
}

}  // namespace

TEST_SUITE("explain: diagnose attentions") {
    TEST_CASE(
        "swapped parameters, other features, another row or fill value are described as rules") {
        WalkConfig config = causal_config();
        config.mask = {};
        config.attentions = {
            std::make_shared<const AttentionFile>(parse_attention(sloped_file, "sloped.attn"))};
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        for (const auto& [how, rule] : std::vector<std::pair<Sloped, std::string>>{
                 {{}, ""},
                 {{.exchanges = true}, "base[h] * log(slope[h] + abs(q - k))"},
                 {{.takes_elu = true}, "(elu(query[b,h,q,f]) + 1) * (elu(key[b,h,k,f]) + 1)"},
                 {{.reads_other_head = true}, "query[b,1,q,0]"},
                 {{.fills_with_zero = true}, "else 0"}}) {
            Ledger user_tensors;
            user_tensors.record("attn", weights_of(walk(plan, given), how));
            const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
            CAPTURE(rule);
            REQUIRE(diagnosis.findings.size() == (rule.empty() ? 0 : 1));
            if (rule.empty()) continue;
            INFO(diagnosis.findings[0].follows);
            CHECK(diagnosis.findings[0].follows.find(rule) != std::string::npos);
        }
    }

    TEST_CASE("right code is right, and a mistake in the file is named from its result alone") {
        CHECK(diagnosed({}).findings.empty());
        const Diagnosis late = diagnosed({.forgets_late = true});
        REQUIRE(late.findings.size() == 1);
        CHECK(is_named(late.findings[0], "forget-late"));
    }
    TEST_CASE("a mistake outside the catalogue is described as the rule that it follows") {
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
