#include "attn/core/steps/context.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/projection.hpp"

namespace attn {
namespace {

// context: the values, weighted and added up.

Tensor compute_context(const Plan& plan, const Ledger& ledger) {
    if (plan.fused()) return blockwise_context(plan, ledger);
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Array<T>& weights = ledger.latest(Chain::weights).as<T>();
        const Array<T>& value = ledger.latest(Chain::values).as<T>();
        return {plan.per_head_axes("query", "feature"),
                is_loop(plan) ? loop::context(weights, value, plan.attention_arithmetic)
                              : vectorized::context(weights, value, plan.attention_arithmetic)};
    });
}

bool is_fused(const Plan& plan) { return plan.fused(); }

std::string context_rule(const PlannedStep& of) {
    if (of.plan.fused()) return blockwise_context_rule(of);
    return "context[q,f] = sum k: weights[q,k] * values[k,f]";
}

std::vector<Input> context_inputs(const Plan& plan) {
    if (!plan.fused()) return {Chain::weights, Chain::values};
    return {Chain::queries, Chain::keys, Chain::values};
}

}  // namespace

StepTable context_cards() {
    return {
        {
            .name = "context",
            .title = "the weighted sum of the values, for each query",
            .chain = Chain::contexts,
            .reads = context_inputs,
            .outline =
                [](const Plan& plan) {
                    return Outline{plan.per_head_axes("query", "feature"),
                                   plan.per_head_shape(plan.query_len, plan.mixed_dim(),
                                                       plan.context_heads())};
                },
            .rule = context_rule,
            .formula = texts({{is_fused, "softmax(scores) @ {values}, block by block"},
                              {"{weights} @ {values}"}}),
            .compute = compute_context,
        },
    };
}

StepTable merged_cards() {
    return {
        {
            .name = "merged",
            .title = "the heads of each token, side by side again",
            .chain = Chain::contexts,
            .applies = [](const Plan& plan) { return plan.has_head && plan.merges; },
            .reads = these({Chain::contexts}),
            .outline =
                [](const Plan& plan) {
                    return token_outline(plan, plan.context_heads() * plan.value_dim);
                },
            .rule =
                [](const PlannedStep& of) {
                    const std::string width = std::to_string(of.plan.value_dim);
                    return "merged[t,c] = " + of.latest(Chain::contexts) + "[c / " + width +
                           ", t, c % " + width + "]";
                },
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const auto step = twin(plan, loop::merge_heads<T>, vectorized::merge_heads<T>);
                return {plan.per_batch_axes("token", "feature"),
                        step(ledger.latest(Chain::contexts, "merged").as<T>())};
            }),

        },
        parameter_card("output", false),
        parameter_card("output", true),
        product_card({
            .name = "output",
            .title = "the heads, mixed by the output projection",
            .parameter = "output",
            .source = [](const Plan&) { return Chain::contexts; },
            .outline = [](const Plan& plan) { return token_outline(plan, plan.output_dim); },
            .applies = [](const Plan& plan) { return plan.config.output_projection; },
            .has_bias = [](const Plan& plan) { return plan.config.output_bias; },
            .chain = Chain::contexts,
        }),
    };
}

}  // namespace attn
