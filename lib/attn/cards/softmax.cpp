#include "attn/steps/softmax.hpp"

#include "attn/cards/cards.hpp"
#include "attn/walk/words.hpp"

namespace attn {
namespace {

std::string softmax_axis(const Plan& plan) { return std::string(word(plan.config.softmax_axis)); }

Axes without(Axes axes, const std::string& name) {
    std::erase(axes, name);
    return axes;
}

/// One number for each row that softmax ran over.
Outline row_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    const auto axis = std::find(outline.axes.begin(), outline.axes.end(), softmax_axis(plan));
    outline.shape.erase(outline.shape.begin() + (axis - outline.axes.begin()));
    outline.axes.erase(axis);
    return outline;
}

Tensor compute_row_max(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const std::string axis = softmax_axis(plan);
        const auto step = twin(plan, loop::row_max<T>, vectorized::row_max<T>);
        return {without(scores.axes(), axis), step(scores.as<T>(), scores.axis(axis))};
    });
}

Tensor compute_exponentials(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const auto step = twin(plan, loop::exponentials<T>, vectorized::exponentials<T>);
        return {scores.axes(),
                step(scores.as<T>(), ledger["row_max"].as<T>(), scores.axis(softmax_axis(plan)))};
    });
}

Tensor compute_row_sum(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& exponentials = ledger["exponentials"];
        const std::string axis = softmax_axis(plan);
        const auto step = twin(plan, loop::row_sum<T>, vectorized::row_sum<T>);
        return {without(exponentials.axes(), axis),
                step(exponentials.as<T>(), exponentials.axis(axis))};
    });
}

Tensor compute_weights(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const auto step = twin(plan, loop::softmax<T>, vectorized::softmax<T>);
        return {scores.axes(),
                step(scores.as<T>(), scores.axis(softmax_axis(plan)), plan.config.empty_row)};
    });
}

}  // namespace

StepTable softmax_cards() {
    return {
        {
            .name = "row_max",
            .title = "first part of softmax, the largest score of each row",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = keeps_scores,
            .reads = these({Chain::scores}),
            .outline = row_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "row_max = max over " + softmax_axis(of.plan) + " of " +
                           of.latest(Chain::scores);
                },
            .compute = compute_row_max,
        },
        {
            .name = "exponentials",
            .title = "second part of softmax, the exponentials",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = keeps_scores,
            .reads = these({Chain::scores, "row_max"}),
            .outline = score_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "exponentials = exp(" + of.latest(Chain::scores) + " - row_max)";
                },
            .compute = compute_exponentials,
        },
        {
            .name = "row_sum",
            .title = "third part of softmax, what each row adds up to",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = keeps_scores,
            .reads = these({"exponentials"}),
            .outline = row_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "row_sum = sum over " + softmax_axis(of.plan) + " of exponentials";
                },
            .compute = compute_row_sum,
        },
        {
            .name = "weights",
            .title = "how much attention each query pays to each key",
            .applies = keeps_scores,
            .reads = these({Chain::scores}),
            .outline = score_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "weights = softmax(" + of.latest(Chain::scores) + ") over the " +
                           softmax_axis(of.plan) + " axis";
                },
            .compute = compute_weights,
        },
    };
}

}  // namespace attn
