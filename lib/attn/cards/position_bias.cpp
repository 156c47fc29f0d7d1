#include "attn/steps/position_bias.hpp"

#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/cards/products.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/plan/mask_kinds.hpp"
#include "attn/plan/score_bias.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

bool is_file(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::file;
}

// position_bias: what each query and key add for where they stand.

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
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        if (is_file(plan)) {
            return {outline.axes,
                    cast(*plan.config.position_bias->given, plan.compute_dtype).template as<T>()};
        }
        Array<T> bias = twin(plan, loop::position_bias<T>, vectorized::position_bias<T>)(
            distance_bias<T>(plan, ledger), causal_offset(plan), plan.query_len, plan.key_len);
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

std::string position_bias_note(const Subject& subject) {
    if (is_alibi(subject.plan)) {
        return "The further away a key stands, the more is taken from its score. Nothing is "
               "learned, and query and key stay as they are.";
    }
    if (is_t5(subject.plan)) {
        return "A learned number for each distance and head. T5 scales no scores and adds none in "
               "cross-attention.";
    }
    return "Added to the scores as it was given.";
}

std::string position_bias_code(const StepLines& of) {
    if (is_file(of.plan)) {
        return "position_bias = " + tensor_literal(*of.plan.config.position_bias->given,
                                                   of.plan.compute_dtype, of.language);
    }
    if (is_t5(of.plan)) {
        const std::string rows = "relative_attention_bias[buckets]";
        const std::string moved =
            of.torch() ? rows + ".permute(2, 0, 1)" : rows + ".transpose(2, 0, 1)";
        return buckets_code(of) +
               "\nposition_bias = " + (of.plan.has_head ? moved : rows + "[..., 0]");
    }
    const std::string distance =
        of.module() + ".abs(" + query_positions_code(of) + " - " + key_positions_code(of) + ")";
    return "position_bias = -" + distance + " * slopes" +
           std::string(of.plan.has_head ? "[:, None, None]" : "");
}

// biased_scores: the scores with it.

Tensor compute_biased(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores, "biased_scores");
        const std::size_t queries = scores.shape()[scores.dimension() - 2];
        const std::size_t keys = scores.shape()[scores.dimension() - 1];
        const auto with_bias_of = [&](const Plan& of, const Ledger& made) -> Tensor {
            const ScoreBias<T> bias(of, made);
            return {scores.axes(), twin(plan, loop::add_bias<T>, vectorized::add_bias<T>)(
                                       scores.as<T>(), bias.view())};
        };
        if (queries == plan.query_len && keys == plan.key_len) return with_bias_of(plan, ledger);
        // A mistake has made scores of other lengths: they meet the bias of their distances.
        Plan fitting = plan;
        fitting.query_len = queries;
        fitting.key_len = keys;
        Ledger of_their_distances = ledger;
        of_their_distances.record("position_bias", compute_position_bias(fitting, ledger));
        return with_bias_of(fitting, of_their_distances);
    });
}

bool adds_bias(const Plan& plan) { return keeps_scores(plan) && plan.biases(); }

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
            .note = position_bias_note,
            .code = position_bias_code,
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
            .compute = compute_biased,
            .note =
                [](const Subject&) {
                    return std::string(
                        "Softmax sees content and position in one number: exp(score + bias) = "
                        "exp(score) * exp(bias).");
                },
            .code =
                [](const StepLines& of) {
                    return "biased_scores = " + of.latest(Chain::scores) + " + position_bias";
                },
        },
    };
}

}  // namespace attn
