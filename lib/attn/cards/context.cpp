#include "attn/steps/context.hpp"

#include "attn/cards/cards.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/projection.hpp"

namespace attn {
namespace {

Tensor compute_context(const Plan& plan, const Ledger& ledger) {
    if (plan.fused()) return blockwise_context(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::context<T>, vectorized::context<T>);
        return {
            plan.per_head_axes("query", "feature"),
            step(ledger["weights"].as<T>(), ledger.latest(Chain::values).as<T>(), plan.arithmetic)};
    });
}

Tensor compute_merged(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::merge_heads<T>, vectorized::merge_heads<T>);
        return {plan.per_batch_axes("token", "feature"),
                step(ledger.latest(Chain::contexts, "merged").as<T>())};
    });
}

Tensor compute_output(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& merged = ledger.latest(Chain::contexts, "output");
        const Tensor* bias = ledger.find("b_output");
        const auto step = twin(plan, loop::project<T>, vectorized::project<T>);
        Axes axes = merged.axes();
        std::replace(axes.begin(), axes.end(), std::string("query"), std::string("token"));
        return {axes, step(merged.as<T>(), ledger["w_output"].as<T>(),
                           bias ? bias->as<T>() : empty_array<T>({0}), *plan.config.weight_layout,
                           plan.arithmetic)};
    });
}

std::string context_formula(const PlannedStep& of) {
    const std::string value = of.latest(Chain::values);
    if (!of.plan.fused()) return "context = weights @ " + value;
    return of.plan.traces_blocks() ? "context = partial_context / running_sum, after the last block"
                                   : "context = softmax(scores) @ " + value + ", block by block";
}

std::vector<Input> context_inputs(const Plan& plan) {
    if (!plan.fused()) return {"weights", Chain::values};
    return {Chain::queries, Chain::keys, Chain::values};
}

std::vector<Input> output_inputs(const Plan& plan) {
    std::vector<Input> inputs{Chain::contexts, "w_output"};
    if (plan.config.output_bias) inputs.push_back("b_output");
    return inputs;
}

}  // namespace

StepTable context_cards() {
    return {
        {
            .name = "context",
            .title = "the values, mixed by attention",
            .chain = Chain::contexts,
            .reads = context_inputs,
            .outline =
                [](const Plan& plan) {
                    return Outline{plan.per_head_axes("query", "feature"),
                                   plan.per_head_shape(plan.query_len, plan.value_dim)};
                },
            .formula = context_formula,
            .compute = compute_context,
        },
        {
            .name = "merged",
            .title = "the heads of each token, side by side again",
            .chain = Chain::contexts,
            .applies = [](const Plan& plan) { return plan.has_head && plan.merges; },
            .reads = these({Chain::contexts}),
            .outline =
                [](const Plan& plan) { return token_outline(plan, plan.heads * plan.value_dim); },
            .formula =
                always("merged(t) = context of head 0, head 1, ... of token t, side by side"),
            .compute = compute_merged,
        },
        parameter_card("output", false),
        parameter_card("output", true),
        {
            .name = "output",
            .title = "the heads, mixed by the output projection",
            .chain = Chain::contexts,
            .applies = [](const Plan& plan) { return plan.config.output_projection; },
            .reads = output_inputs,
            .outline = [](const Plan& plan) { return token_outline(plan, plan.output_dim); },
            .formula =
                [](const PlannedStep& of) {
                    const WalkConfig& config = of.plan.config;
                    const bool out_in = *config.weight_layout == WeightLayout::out_in;
                    return "output = " + of.latest(Chain::contexts) + " @ w_output" +
                           (out_in ? "^T" : "") + (config.output_bias ? " + b_output" : "");
                },
            .compute = compute_output,
        },
    };
}

}  // namespace attn
