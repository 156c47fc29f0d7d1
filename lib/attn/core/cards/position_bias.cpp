#include "attn/core/steps/position_bias.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/score_bias.hpp"

namespace attn {
namespace {

bool is_file(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::file;
}

}  // namespace

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

Tensor compute_biased_scores(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Tensor& scores = ledger.latest(Chain::scores, "biased_scores");
        Plan fitting = plan;
        fitting.query_len = scores.shape()[scores.dimension() - 2];
        fitting.key_len = scores.shape().back();
        const auto with_bias_of = [&](const Ledger& computed) -> Tensor {
            const ScoreBias<T> bias(fitting, computed);
            return {scores.axes(), add_position_bias(scores.as<T>(), bias.view())};
        };
        if (fitting.query_len == plan.query_len && fitting.key_len == plan.key_len) {
            return with_bias_of(ledger);
        }
        // A mistake has changed the lengths of the scores: compute the bias for those.
        Ledger of_their_distances = ledger;
        of_their_distances.record("position_bias", compute_position_bias(fitting, ledger));
        return with_bias_of(of_their_distances);
    });
}

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

std::optional<std::string> bucket_word(std::string_view word, const PlannedStep& of) {
    if (word == "h") return of.plan.has_head ? "h" : "0";
    if (word == "h,") return of.plan.has_head ? "h," : "";
    const std::size_t regular = regular_heads(of.plan);
    if (word == "regular") return std::to_string(regular);
    if (word == "next") return std::to_string(2 * regular);
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

}  // namespace attn
