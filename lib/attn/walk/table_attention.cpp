#include "attn/steps/context.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/walk/table_parts.hpp"

namespace attn {
namespace {

constexpr std::array<const char*, 4> axis_names{"key", "query", "head", "batch"};

const char* softmax_axis_name(const Plan& plan) {
    return axis_names[static_cast<std::size_t>(plan.config.softmax_axis)];
}

/// What the softmax reads: the last of the score steps that this walk has.
const Tensor& softmax_input(const Ledger& ledger) {
    return *ledger.latest({"scores", "scaled_scores", "masked_scores"});
}

Axes without(Axes axes, const std::string& name) {
    std::erase(axes, name);
    return axes;
}

Tensor compute_scores(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::scores<T>, vectorized::scores<T>);
        return {plan.per_head_axes("query", "key"),
                step(ledger["query"].as<T>(), ledger["key"].as<T>(), plan.arithmetic)};
    });
}

Tensor compute_scaled(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger["scores"];
        const auto step = twin(plan, loop::scale<T>, vectorized::scale<T>);
        return {scores.axes(), step(scores.as<T>(), plan.scale)};
    });
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

Tensor compute_masked(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = *ledger.latest({"scores", "scaled_scores"});
        const auto step = twin(plan, loop::apply_mask<T>, vectorized::apply_mask<T>);
        return {scores.axes(), step(scores.as<T>(), ledger["mask"].as<bool>())};
    });
}

Tensor compute_row_max(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = softmax_input(ledger);
        const std::string axis = softmax_axis_name(plan);
        const auto step = twin(plan, loop::row_max<T>, vectorized::row_max<T>);
        return {without(scores.axes(), axis), step(scores.as<T>(), scores.axis(axis))};
    });
}

Tensor compute_exponentials(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = softmax_input(ledger);
        const auto step = twin(plan, loop::exponentials<T>, vectorized::exponentials<T>);
        return {scores.axes(), step(scores.as<T>(), ledger["row_max"].as<T>(),
                                    scores.axis(softmax_axis_name(plan)))};
    });
}

Tensor compute_row_sum(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& exponentials = ledger["exponentials"];
        const std::string axis = softmax_axis_name(plan);
        const auto step = twin(plan, loop::row_sum<T>, vectorized::row_sum<T>);
        return {without(exponentials.axes(), axis),
                step(exponentials.as<T>(), exponentials.axis(axis))};
    });
}

Tensor compute_weights(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = softmax_input(ledger);
        const auto step = twin(plan, loop::softmax<T>, vectorized::softmax<T>);
        return {scores.axes(),
                step(scores.as<T>(), scores.axis(softmax_axis_name(plan)), plan.config.empty_row)};
    });
}

Tensor compute_context(const Plan& plan, const Ledger& ledger) {
    if (plan.fused()) return fused_context(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::context<T>, vectorized::context<T>);
        return {plan.per_head_axes("query", "feature"),
                step(ledger["weights"].as<T>(), ledger["value"].as<T>(), plan.arithmetic)};
    });
}

Tensor compute_merged(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step = twin(plan, loop::merge_heads<T>, vectorized::merge_heads<T>);
        return {plan.per_batch_axes("query", "feature"), step(ledger["context"].as<T>())};
    });
}

Tensor compute_output(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& merged = *ledger.latest({"context", "merged"});
        const Tensor* bias = ledger.find("b_output");
        const auto step = twin(plan, loop::project<T>, vectorized::project<T>);
        return {merged.axes(), step(merged.as<T>(), ledger["w_output"].as<T>(),
                                    bias ? bias->as<T>() : empty_array<T>({0}),
                                    *plan.config.weight_layout, plan.arithmetic)};
    });
}

/// The name of the step that the softmax reads, from the plan alone.
std::string softmax_input_name(const Plan& plan) {
    return plan.masks() ? "masked_scores" : plan.scales() ? "scaled_scores" : "scores";
}

std::string scaled_formula(const Plan& plan) {
    const std::string number = short_number(plan.scale.number);
    switch (plan.config.scale.by) {
        case ScaleChoice::By::head_dim:
            return "scaled_scores = scores / sqrt(head_dim) = scores / sqrt(" +
                   std::to_string(plan.head_dim) + ") = scores / " + number;
        case ScaleChoice::By::embed_dim:
            return "scaled_scores = scores / sqrt(embed_dim) = scores / sqrt(" +
                   std::to_string(plan.embed_dim) + ") = scores / " + number;
        default:
            return "scaled_scores = scores * " + number;
    }
}

std::string mask_formula(const Plan& plan) {
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

bool always_applies(const Plan&) { return true; }

/// The steps that hold a cell for each query and key, or a part of softmax: fused has none.
StepTable without_fused(StepTable steps) {
    for (Step& step : steps) {
        step.applies = [applies = step.applies](const Plan& plan) {
            return !plan.fused() && applies(plan);
        };
    }
    return steps;
}

std::string context_formula(const Plan& plan) {
    if (!plan.fused()) return "context = weights @ value";
    return plan.traces_blocks() ? "context = partial_context / running_sum, after the last block"
                                : "context = softmax(scores) @ value, block by block";
}

}  // namespace

StepTable attention_steps() {
    using Kind = Step::Kind;
    const auto masks = [](const Plan& plan) { return plan.masks(); };
    const auto scales = [](const Plan& plan) { return plan.scales(); };
    const auto has_output = [](const Plan& plan) { return plan.config.output_projection; };
    StepTable steps = without_fused({
        {"scores", "every query compared with every key (also called attention logits)",
         Kind::computed, true, always_applies, always("scores = query @ key^T"), compute_scores},
        {"scaled_scores", "the scores, brought to scale", Kind::computed, true, scales,
         scaled_formula, compute_scaled},
        {"mask", "which keys each query may not see (true = hidden)", Kind::computed, true, masks,
         mask_formula, compute_mask},
        {"masked_scores", "the scores, with what is hidden set to -inf", Kind::computed, true,
         masks,
         [](const Plan& plan) {
             return std::string("masked_scores = -inf where mask is true, else ") +
                    (plan.scales() ? "scaled_scores" : "scores");
         },
         compute_masked},
        {"row_max", "first part of softmax, the largest score of each row", Kind::detail, false,
         always_applies,
         [](const Plan& plan) {
             return std::string("row_max = max over ") + softmax_axis_name(plan) + " of " +
                    softmax_input_name(plan);
         },
         compute_row_max},
        {"exponentials", "second part of softmax, the exponentials", Kind::detail, false,
         always_applies,
         [](const Plan& plan) {
             return "exponentials = exp(" + softmax_input_name(plan) + " - row_max)";
         },
         compute_exponentials},
        {"row_sum", "third part of softmax, what each row adds up to", Kind::detail, false,
         always_applies,
         [](const Plan& plan) {
             return std::string("row_sum = sum over ") + softmax_axis_name(plan) +
                    " of exponentials";
         },
         compute_row_sum},
        {"weights", "how much attention each query pays to each key", Kind::computed, true,
         always_applies,
         [](const Plan& plan) {
             return "weights = softmax(" + softmax_input_name(plan) + ") over the " +
                    softmax_axis_name(plan) + " axis";
         },
         compute_weights},
    });
    for (Step& step : fused_steps()) steps.push_back(std::move(step));
    steps.push_back({"context", "the values, mixed by attention", Kind::computed, true,
                     always_applies, context_formula, compute_context});
    steps.push_back({"merged", "the heads of each token, side by side again", Kind::computed, true,
                     [](const Plan& plan) { return plan.has_head && plan.merges; },
                     always("merged(t) = context of head 0, head 1, ... of token t, side by side"),
                     compute_merged});
    for (Step& step : output_parameter_steps()) steps.push_back(std::move(step));
    steps.push_back({"output", "the heads, mixed by the output projection", Kind::computed, true,
                     has_output,
                     [](const Plan& plan) {
                         const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
                         return std::string("output = ") + (plan.has_head ? "merged" : "context") +
                                " @ w_output" + (out_in ? "^T" : "") +
                                (plan.config.output_bias ? " + b_output" : "");
                     },
                     compute_output});
    return steps;
}

}  // namespace attn
