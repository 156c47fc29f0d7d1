#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/core/steps/softcap.hpp"

namespace attn {
namespace {

// scores: every query compared with every key.

// scaled_scores: divided by the root of the head's width.

std::string sign_of(const Plan& plan) { return divides(plan) ? " / " : " * "; }

std::string scaled_rule(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const double more = plan.score_factor();
    const std::string scores = "scaled_scores[q,k] = scores[q,k]";
    const auto is_root = [&](ScaleChoice::By by, std::size_t size) {
        const double root = std::sqrt(static_cast<double>(size)) / more;
        return plan.config.scale.by == by && divides(plan) &&
               std::abs(plan.scale.number - root) <= 1e-12 * root;
    };
    const std::string scaled = more == 1 ? scores : scores + " * " + json_number(more);
    if (is_root(ScaleChoice::By::head_dim, plan.head_dim)) return scaled + " / sqrt(D)";
    if (is_root(ScaleChoice::By::embed_dim, plan.embed_dim)) return scaled + " / sqrt(C)";
    return scores + sign_of(plan) + json_number(plan.scale.number);
}

}  // namespace

StepTable score_cards() {
    return {
        with_loop(
            {
                .name = "scores",
                .title = "every query compared with every key (also called attention logits)",
                .chain = Chain::scores,
                .applies = keeps_scores,
                .reads = these({Chain::queries, Chain::keys}),
                .outline = score_outline,
                .rule = always("scores[q,k] = sum f: queries[q,f] * keys[k,f]"),
                .formula = texts({"{queries} @ {keys}^T"}),
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::scores<T>, vectorized::scores<T>);
                return step(in[0], in[1], in.plan.attention_arithmetic);
            }),
        with_loop(
            {
                .name = "scaled_scores",
                .title = "the scores, scaled",
                .chain = Chain::scores,
                .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.scales(); },
                .reads = these({Chain::scores}),
                .outline = score_outline,
                .rule = scaled_rule,
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::scale<T>, vectorized::scale<T>);
                return in.like_first(step(in[0], in.plan.scale));
            }),
        softcap_card(),
    };
}

namespace {

// capped_scores: pressed below a cap by tanh.

}  // namespace

Step softcap_card() {
    return with_loop(
        {
            .name = "capped_scores",
            .title = "the scores, softly bounded by the cap",
            .chain = Chain::scores,
            .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.caps(); },
            .reads = these({Chain::scores}),
            .outline = score_outline,
            .rule = always("capped_scores[q,k] = cap * tanh(scores[q,k] / cap)"),
        },
        []<class T>(const LoopInputs<T>& in) {
            const auto step = in.twin(loop::soft_cap<T>, vectorized::soft_cap<T>);
            return in.like_first(step(in[0], in.plan.config.softcap));
        });
}

}  // namespace attn
