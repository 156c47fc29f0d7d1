#include <algorithm>

#include "attn/core/cards/cards.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

// key and value: made of the latents, or these themselves.

std::string latent_part_rule(const Plan& plan, const Projected& part) {
    const bool is_key = part.letter() == 'k';
    const std::string rows =
        is_absorbed(plan) ? "normed_latent[t,f]"
                          : "projected_key_value[t, h * " + std::to_string(pair_width(plan)) +
                                " + " + std::to_string(first_in_head(plan, is_key)) + " + f]";
    const std::string own =
        std::to_string(is_absorbed(plan) ? plan.latent_rank() : still_dim(plan));
    return part.name + "[h,t,f] = " +
           (is_key ? "if f < " + own + " then " + rows + " else rotary_key[t, f - " + own + "]"
                   : rows);
}

// absorbed_query and expanded_context: the matrices that the latents have not met.

Step absorbed_query_card() {
    return {
        .name = "absorbed_query",
        .title = "the query, multiplied by the matrix that would have made the keys",
        .chain = Chain::queries,
        .applies = is_absorbed,
        .reads = these({Chain::queries, "w_key_value"}),
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_head_axes("query", "feature"),
                               plan.per_head_shape(plan.query_len, plan.key_dim())};
            },
        .mixes_features = true,
        .rule =
            [](const PlannedStep& of) {
                const bool out_in = *of.plan.config.weight_layout == WeightLayout::out_in;
                const std::string still = std::to_string(still_dim(of.plan));
                const std::string rank = std::to_string(of.plan.latent_rank());
                const std::string out = "h * " + std::to_string(pair_width(of.plan)) + " + g";
                return "absorbed_query[h,t,f] = if f < " + rank + " then (sum g in 0.." + still +
                       ": queries[h,t,g] * w_key_value[" + (out_in ? out + ", f" : "f, " + out) +
                       "]) else queries[h,t,f - " + rank + " + " + still + "]";
            },
    };
}

Step expanded_context_card() {
    return {
        .name = "expanded_context",
        .title = "the weighted sum of the latents, made into values of each head",
        .chain = Chain::contexts,
        .applies = is_absorbed,
        .reads = these({Chain::contexts, "w_key_value"}),
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_head_axes("query", "feature"),
                               plan.per_head_shape(plan.query_len, plan.value_dim)};
            },
        .rule =
            [](const PlannedStep& of) {
                const bool out_in = *of.plan.config.weight_layout == WeightLayout::out_in;
                const std::string out = "h * " + std::to_string(pair_width(of.plan)) + " + " +
                                        std::to_string(still_dim(of.plan)) + " + f";
                return "expanded_context[h,t,f] = sum c: contexts[h,t,c] * w_key_value[" +
                       (out_in ? out + ", c]" : "c, " + out + "]");
            },
    };
}

Step latent_part_card(const Projected& part, const Step& projected) {
    Step card = projected;
    card.reads = [part](const Plan& plan) {
        std::vector<Input> inputs{is_absorbed(plan) ? "normed_latent" : "projected_key_value"};
        if (part.letter() == 'k') inputs.push_back("rotary_key");
        return inputs;
    };
    card.rule = [part](const PlannedStep& of) { return latent_part_rule(of.plan, part); };
    card.compute = by_rule(card);
    return card;
}

}  // namespace

void take_from_latents(StepTable& table) {
    const auto card_of = [&](const std::string& name) -> Step& {
        return *std::ranges::find(table, name, &Step::name);
    };
    for (const char letter : {'k', 'v'}) {
        const Projected& part = projected_of(letter);
        Step& card = card_of(part.name);
        card = either(has_latents, latent_part_card(part, card), card);
    }
}

StepTable absorbed_cards() { return {absorbed_query_card()}; }

StepTable expanded_cards() { return {expanded_context_card()}; }

}  // namespace attn
