#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"

namespace attn {
namespace {

bool is_differential(const Plan& plan) { return plan.differs(); }

// lambda_full: how much of the second softmax is taken away.

Step lambda_vector_card(const char* name) {
    return drawn_card(name, "one of four vectors that make lambda", is_differential);
}

std::optional<std::string> lambda_word(std::string_view word, const PlannedStep& of) {
    if (word == "init") return json_number(of.plan.lambda_init());
    return word == "rest" ? std::optional(json_number(1 - of.plan.lambda_init())) : std::nullopt;
}

Step lambda_card() {
    return {
        .name = "lambda_full",
        .title = "how much of each pair's second softmax is taken away",
        .called = "lam lambda lambda_ lambda_value",
        .applies = is_differential,
        .reads = these({"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}),
        .outline =
            [](const Plan&) {
                return Outline{{"feature"}, {1}};
            },
        .rule = texts({"lambda_full[i] = exp(sum f: lambda_q1[f] * lambda_k1[f]) - "
                       "exp(sum f: lambda_q2[f] * lambda_k2[f]) + {init}"},
                      lambda_word),
    };
}

// differential_weights: the first softmax of each pair, less lambda times the second.

Step difference_card() {
    return {
        .name = "differential_weights",
        .title = "the weights of each pair of heads, the second taken from the first",
        .called = "diff_weights diff_attn attn_diff diff_attn_weights",
        .chain = Chain::weights,
        .applies = is_differential,
        .reads = these({"weights", "lambda_full"}),
        .outline =
            [](const Plan& plan) {
                return Outline{
                    plan.per_head_axes("query", "key"),
                    plan.per_head_shape(plan.query_len, plan.key_len, plan.context_heads())};
            },
        .rule = always("differential_weights[h,q,k] = weights[2 * h, q, k] - "
                       "lambda_full[0] * weights[2 * h + 1, q, k]"),
    };
}

// normed_context and scaled_context: what keeps all heads of one size.

Outline head_context_outline(const Plan& plan) {
    return {plan.per_head_axes("query", "feature"),
            plan.per_head_shape(plan.query_len, plan.value_dim, plan.context_heads())};
}

RmsStep context_norm() {
    return {
        .name = "normed_context",
        .title = "the context, every row of each head brought to one length",
        .before = Chain::contexts,
        .gain = "g_context",
        .eps = context_norm_eps,
        .applies = is_differential,
        .outline = head_context_outline,
        .chain = Chain::contexts,
    };
}

Step scaled_context_card() {
    return {
        .name = "scaled_context",
        .title = "the normed context, at the size that it has without a difference",
        .chain = Chain::contexts,
        .applies = is_differential,
        .reads = these({Chain::contexts}),
        .outline = head_context_outline,
        .rule = texts({"scaled_context[q,f] = contexts[q,f] * {rest}"}, lambda_word),
    };
}

}  // namespace

StepTable difference_cards() {
    StepTable cards;
    for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) {
        cards.push_back(lambda_vector_card(name));
    }
    cards.push_back(lambda_card());
    cards.push_back(difference_card());
    return cards;
}

StepTable difference_context_cards() {
    return {rms_gain_card(context_norm()), rms_card(context_norm()), scaled_context_card()};
}

}  // namespace attn
