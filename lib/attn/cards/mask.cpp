#include "attn/steps/mask.hpp"

#include "attn/cards/cards.hpp"

namespace attn {
namespace {

bool masks(const Plan& plan) { return keeps_scores(plan) && plan.masks(); }

/// The mask has no more axes than it needs: a causal one has those of the queries and the keys.
Outline mask_outline(const Plan& plan) {
    const Outline scores = score_outline(plan);
    const std::size_t axes = scores.axes.size();
    std::vector<Shape> shapes;
    if (plan.config.mask.causal) shapes.push_back({plan.query_len, plan.key_len});
    if (plan.config.mask.padding) {
        shapes.push_back(shape_of(padding_mask(plan.key_padding, axes)));
    }
    if (plan.config.mask.given) shapes.push_back(plan.config.mask.given->shape());
    Shape whole;
    for (Shape& shape : shapes) {
        whole.insert(whole.begin(), std::max(whole.size(), shape.size()) - whole.size(), 1);
        shape.insert(shape.begin(), whole.size() - shape.size(), 1);
        for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = std::max(whole[i], shape[i]);
    }
    return {Axes(scores.axes.end() - static_cast<std::ptrdiff_t>(whole.size()), scores.axes.end()),
            whole};
}

Tensor compute_mask(const Plan& plan, const Ledger&) {
    const Axes score_axes = plan.per_head_axes("query", "key");
    const auto named = [&](Array<bool> mask) -> Tensor {
        const auto axes = static_cast<std::ptrdiff_t>(mask.dimension());
        return {Axes(score_axes.end() - axes, score_axes.end()), std::move(mask)};
    };
    std::vector<Array<bool>> masks;
    if (plan.config.mask.causal) {
        masks.push_back(causal_mask(plan.query_len, plan.key_len, plan.config.causal_align));
    }
    if (plan.config.mask.padding) {
        masks.push_back(padding_mask(plan.key_padding, score_axes.size()));
    }
    if (plan.config.mask.given) masks.push_back(plan.config.mask.given->as<bool>());
    Array<bool> mask = masks.front();
    for (std::size_t i = 1; i < masks.size(); ++i) mask = either_mask(mask, masks[i]);
    return named(std::move(mask));
}

std::string mask_formula(const PlannedStep& of) {
    const Plan& plan = of.plan;
    std::string rule;
    const auto also = [&rule](const std::string& text) {
        rule += (rule.empty() ? "" : " or ") + text;
    };
    if (plan.config.mask.causal) {
        const bool shifted =
            plan.config.causal_align == CausalAlign::end && plan.key_len != plan.query_len;
        also(shifted ? "k > q + key_len - query_len" : "k > q");
    }
    if (plan.config.mask.padding) also("key k is padding");
    if (plan.config.mask.given) also("the mask file hides (q, k)");
    return "mask(q, k) = true (hidden) where " + rule;
}

Tensor compute_masked(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores, "masked_scores");
        const auto step = twin(plan, loop::apply_mask<T>, vectorized::apply_mask<T>);
        return {scores.axes(), step(scores.as<T>(), ledger["mask"].as<bool>())};
    });
}

}  // namespace

StepTable mask_cards() {
    return {
        {
            .name = "mask",
            .title = "which keys each query may not see (true = hidden)",
            .applies = masks,
            .outline = mask_outline,
            .formula = mask_formula,
            .compute = compute_mask,
        },
        {
            .name = "masked_scores",
            .title = "the scores, with what is hidden set to -inf",
            .chain = Chain::scores,
            .applies = masks,
            .reads = these({Chain::scores, "mask"}),
            .outline = score_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "masked_scores = -inf where mask is true, else " +
                           of.latest(Chain::scores);
                },
            .compute = compute_masked,
        },
    };
}

}  // namespace attn
