#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/steps/position_bias.hpp"

namespace attn {
namespace {

bool is_file(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::file;
}

// position_bias: what each query and key add for where they are.

Outline position_bias_outline(const Plan& plan) {
    Axes axes{"query", "key"};
    Shape shape{plan.query_len, plan.key_len};
    if (is_file(plan)) {
        shape = plan.config.position_bias->given->shape();
        const Axes all = plan.per_head_axes("query", "key");
        axes = {all.end() - static_cast<std::ptrdiff_t>(shape.size()), all.end()};
    } else if (plan.has_head) {
        axes.insert(axes.begin(), "head");
        shape.insert(shape.begin(), plan.heads);
    }
    return {axes, shape};
}

Tensor compute_position_bias(const Plan& plan, const Ledger& ledger) {
    Outline outline = position_bias_outline(plan);
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        if (is_file(plan)) {
            return {outline.axes,
                    cast(*plan.config.position_bias->given, plan.compute_dtype).template as<T>()};
        }
        Array<T> bias = position_bias(distance_bias<T>(plan, ledger), causal_offset(plan),
                                      plan.query_len, plan.key_len);
        bias.reshape(outline.shape);
        return {outline.axes, std::move(bias)};
    });
}

std::string position_bias_rule(const PlannedStep& of) {
    if (is_file(of.plan)) return {};
    const std::string left = of.plan.has_head ? "position_bias[h,q,k] = " : "position_bias[q,k] = ";
    const std::string h = of.plan.has_head ? "h" : "0";
    if (is_t5(of.plan)) return left + "relative_attention_bias[buckets[q,k], " + h + "]";
    return left + "-abs(q + offset - k) * slopes[" + h + "]";
}

// biased_scores: the scores with it.

bool adds_bias(const Plan& plan) { return keeps_scores(plan) && plan.biases(); }

Tensor compute_biased_scores(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Tensor& scores = ledger.latest(Chain::scores, "biased_scores");
        Plan fitting = plan;
        fitting.query_len = scores.shape()[scores.dimension() - 2];
        fitting.key_len = scores.shape().back();
        const auto with_bias_of = [&](const Ledger& made) -> Tensor {
            const ScoreBias<T> bias(fitting, made);
            return {scores.axes(), add_position_bias(scores.as<T>(), bias.view())};
        };
        if (fitting.query_len == plan.query_len && fitting.key_len == plan.key_len) {
            return with_bias_of(ledger);
        }
        // A mistake has made scores of other lengths: they meet the bias of their distances.
        Ledger of_their_distances = ledger;
        of_their_distances.record("position_bias", compute_position_bias(fitting, ledger));
        return with_bias_of(of_their_distances);
    });
}

}  // namespace

StepTable bias_cards() {
    return {
        buckets_card(),
        {
            .name = "position_bias",
            .title = "what is added to each score for where query and key stand",
            .applies = adds_bias,
            .reads =
                [](const Plan& plan) {
                    if (is_alibi(plan)) return std::vector<Input>{"slopes"};
                    if (is_t5(plan)) return std::vector<Input>{"relative_attention_bias"};
                    return std::vector<Input>();
                },
            .outline = position_bias_outline,
            .varies_where_hidden = true,
            .rule = position_bias_rule,
            .compute = compute_position_bias,
        },
        {
            .name = "biased_scores",
            .title = "the scores, with the bias",
            .chain = Chain::scores,
            .applies = adds_bias,
            .reads = these({Chain::scores, "position_bias"}),
            .outline = score_outline,
            .varies_where_hidden = true,
            .rule = always("biased_scores[q,k] = scores[q,k] + position_bias[q,k]"),
            .compute = compute_biased_scores,
        },
    };
}

namespace {

bool has_kind(const Plan& plan, PositionBias::Kind kind) {
    return plan.biases() && plan.config.position_bias->kind == kind;
}

// slopes of ALiBi, one for each head.

std::optional<std::string> slope_word(std::string_view word, const PlannedStep& of) {
    if (word == "regular") return std::to_string(regular_heads(of.plan));
    return word == "next" ? std::optional(std::to_string(2 * regular_heads(of.plan)))
                          : std::nullopt;
}

bool has_regular_heads(const Plan& plan) { return regular_heads(plan) == plan.heads; }

// buckets of T5: which row of its table each query and key read.

Tensor compute_buckets(const Plan& plan, const Ledger&) {
    const BucketRule rule = bucket_rule(plan);
    Array<std::int64_t> buckets = empty_array<std::int64_t>({plan.query_len, plan.key_len});
    for (std::size_t q = 0; q < plan.query_len; ++q) {
        const std::int64_t position = static_cast<std::int64_t>(q) + causal_offset(plan);
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            buckets(q, k) = bucket_of(static_cast<std::int64_t>(k) - position, rule);
        }
    }
    return {{"query", "key"}, std::move(buckets)};
}

}  // namespace

std::optional<std::string> bucket_word(std::string_view word, const PlannedStep& of) {
    const BucketRule rule = bucket_rule(of.plan);
    const std::int64_t half = rule.bidirectional ? rule.buckets / 2 : rule.buckets;
    if (word == "exact") return std::to_string(rule.exact());
    if (word == "beyond") return std::to_string(half - rule.exact());
    if (word == "furthest") return std::to_string(rule.max_distance);
    if (word == "half") return std::to_string(half);
    if (word == "last") return std::to_string(half - 1);
    if (word == "n") return rule.bidirectional ? "abs(k - q - offset)" : "max(q + offset - k, 0)";
    if (word != "sorted") return std::nullopt;
    return filled(
        "if {n} < {exact} then {n} else min({exact} + floor(log({n} / {exact}) / "
        "log({furthest} / {exact}) * {beyond}), {last})",
        of, bucket_word);
}

bool looks_both_ways(const Plan& plan) { return bucket_rule(plan).bidirectional; }

std::size_t regular_heads(const Plan& plan) { return std::bit_floor(plan.heads); }
bool is_alibi(const Plan& plan) { return has_kind(plan, PositionBias::Kind::alibi); }
bool is_t5(const Plan& plan) { return has_kind(plan, PositionBias::Kind::t5); }

StepTable slope_cards() {
    return {
        with_loop(
            {
                .name = "slopes",
                .title = "how much each head loses with distance (ALiBi)",
                .shown = false,
                .applies = is_alibi,
                .outline =
                    [](const Plan& plan) {
                        return Outline{{"head"}, {plan.heads}};
                    },
                .rule = texts({{has_regular_heads, "slopes[h] = 2 ^ (-8 * (h + 1) / {regular})"},
                               {"slopes[h] = if h < {regular} then 2 ^ (-8 * (h + 1) / {regular}) "
                                "else 2 ^ (-8 * (2 * (h - {regular}) + 1) / {next})"}},
                              slope_word),
            },
            []<class T>(const LoopInputs<T>& in) {
                const std::vector<double> slopes = alibi_slopes(in.plan.heads);
                Array<T> result = empty_array<T>({slopes.size()});
                for (std::size_t h = 0; h < slopes.size(); ++h)
                    result(h) = static_cast<T>(slopes[h]);
                return result;
            }),
        drawn_card("relative_attention_bias",
                   "a number for each bucket of distances and each head (T5)", is_t5),
    };
}

Step buckets_card() {
    return {
        .name = "buckets",
        .title = "the row of the table that each query and key read (T5)",
        .kind = Step::Kind::detail,
        .holds = RuleType::whole,
        .shown = false,
        .applies = [](const Plan& plan) { return keeps_scores(plan) && is_t5(plan); },
        .outline =
            [](const Plan& plan) {
                return Outline{{"query", "key"}, {plan.query_len, plan.key_len}};
            },
        .rule = texts({{looks_both_ways,
                        "buckets[q,k] = (if k > q + offset then {half} else 0) + ({sorted})"},
                       {"buckets[q,k] = {sorted}"}},
                      bucket_word),
        .compute = compute_buckets,
    };
}

}  // namespace attn
