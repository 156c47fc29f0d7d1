#include "attn/steps/scores.hpp"

#include "attn/cards/cards.hpp"
#include "attn/text/numbers.hpp"

namespace attn {
namespace {

Tensor compute_scores(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::scores<T>, vectorized::scores<T>);
        return {plan.per_head_axes("query", "key"),
                step(ledger.latest(Chain::queries).as<T>(), ledger.latest(Chain::keys).as<T>(),
                     plan.arithmetic)};
    });
}

Tensor compute_scaled(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores, "scaled_scores");
        const auto step = twin(plan, loop::scale<T>, vectorized::scale<T>);
        return {scores.axes(), step(scores.as<T>(), plan.scale)};
    });
}

std::string scaled_formula(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string number = brief(plan.scale.number);
    const std::string scores = of.latest(Chain::scores);
    const auto root = [&](const std::string& name, std::size_t size) {
        return "scaled_scores = " + scores + " / sqrt(" + name + ") = " + scores + " / sqrt(" +
               std::to_string(size) + ") = " + scores + " / " + number;
    };
    switch (plan.config.scale.by) {
        case ScaleChoice::By::head_dim:
            return root("head_dim", plan.head_dim);
        case ScaleChoice::By::embed_dim:
            return root("embed_dim", plan.embed_dim);
        default:
            return "scaled_scores = " + scores + " * " + number;
    }
}

}  // namespace

StepTable score_cards() {
    return {
        {
            .name = "scores",
            .title = "every query compared with every key (also called attention logits)",
            .chain = Chain::scores,
            .applies = keeps_scores,
            .reads = these({Chain::queries, Chain::keys}),
            .outline = score_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "scores = " + of.latest(Chain::queries) + " @ " +
                           of.latest(Chain::keys) + "^T";
                },
            .compute = compute_scores,
        },
        {
            .name = "scaled_scores",
            .title = "the scores, brought to scale",
            .chain = Chain::scores,
            .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.scales(); },
            .reads = these({Chain::scores}),
            .outline = score_outline,
            .formula = scaled_formula,
            .compute = compute_scaled,
        },
    };
}

}  // namespace attn
