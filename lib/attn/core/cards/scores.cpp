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
        {
            .name = "scores",
            .title = "every query compared with every key (also called attention logits)",
            .chain = Chain::scores,
            .applies = keeps_scores,
            .reads = these({Chain::queries, Chain::keys}),
            .outline = score_outline,
            .rule = always("scores[q,k] = sum f: queries[q,f] * keys[k,f]"),
            .formula = texts({"{queries} @ {keys}^T"}),
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const Array<T>& query = ledger.latest(Chain::queries).as<T>();
                const Array<T>& key = ledger.latest(Chain::keys).as<T>();
                return {plan.per_head_axes("query", "key"),
                        is_loop(plan) ? loop::scores(query, key, plan.attention_arithmetic)
                                      : vectorized::scores(query, key, plan.attention_arithmetic)};
            }),
        },
        {
            .name = "scaled_scores",
            .title = "the scores, scaled",
            .chain = Chain::scores,
            .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.scales(); },
            .reads = these({Chain::scores}),
            .outline = score_outline,
            .rule = scaled_rule,
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const Tensor& scores = ledger.latest(Chain::scores, "scaled_scores");
                return {scores.axes(), is_loop(plan)
                                           ? loop::scale(scores.as<T>(), plan.scale)
                                           : vectorized::scale(scores.as<T>(), plan.scale)};
            }),
        },
        softcap_card(),
    };
}

namespace {

// capped_scores: pressed below a cap by tanh.

}  // namespace

Step softcap_card() {
    return {
        .name = "capped_scores",
        .title = "the scores, softly bounded by the cap",
        .chain = Chain::scores,
        .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.caps(); },
        .reads = these({Chain::scores}),
        .outline = score_outline,
        .rule = always("capped_scores[q,k] = cap * tanh(scores[q,k] / cap)"),
        .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& scores = ledger.latest(Chain::scores, "capped_scores");
            const double cap = plan.config.softcap;
            return {scores.axes(), is_loop(plan) ? loop::soft_cap(scores.as<T>(), cap)
                                                 : vectorized::soft_cap(scores.as<T>(), cap)};
        }),
    };
}

}  // namespace attn
