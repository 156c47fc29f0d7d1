#include "attn/core/steps/context.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/projection.hpp"

namespace attn {
namespace {

// context: the values, weighted and added up.

bool is_fused(const Plan& plan) { return plan.fused(); }

std::string context_rule(const PlannedStep& of) {
    if (of.plan.fused()) return blockwise_context_rule(of);
    return "context[q,f] = sum k: weights[q,k] * values[k,f]";
}

std::vector<Input> context_inputs(const Plan& plan) {
    if (!plan.fused()) return {Chain::weights, Chain::values};
    return {Chain::queries, Chain::keys, Chain::values};
}

}  // namespace

StepTable context_cards() {
    Step card = with_loop(
        {
            .name = "context",
            .title = "the weighted sum of the values, for each query",
            .chain = Chain::contexts,
            .reads = context_inputs,
            .outline =
                [](const Plan& plan) {
                    return Outline{plan.per_head_axes("query", "feature"),
                                   plan.per_head_shape(plan.query_len, plan.mixed_dim(),
                                                       plan.context_heads())};
                },
            .rule = context_rule,
            .formula = texts({{is_fused, "softmax(scores) @ {values}, block by block"},
                              {"{weights} @ {values}"}}),
        },
        []<class T>(const LoopInputs<T>& in) {
            const auto step = in.twin(loop::context<T>, vectorized::context<T>);
            return step(in[0], in[1], in.plan.attention_arithmetic);
        });
    card.compute = [whole = card.compute](const Plan& plan, const Ledger& ledger) {
        return plan.fused() ? blockwise_context(plan, ledger) : whole(plan, ledger);
    };
    return {card};
}

StepTable merged_cards() {
    return {
        with_loop({
                      .name = "merged",
                      .title = "the heads of each token, side by side again",
                      .chain = Chain::contexts,
                      .applies = [](const Plan& plan) { return plan.has_head && plan.merges; },
                      .reads = these({Chain::contexts}),
                      .outline =
                          [](const Plan& plan) {
                              return token_outline(plan, merged_heads(plan) * merged_width(plan));
                          },
                      .rule =
                          [](const PlannedStep& of) {
                              const std::string width = std::to_string(merged_width(of.plan));
                              return "merged[t,c] = " + of.latest(Chain::contexts) + "[c / " +
                                     width + ", t, c % " + width + "]";
                          },
                  },
                  []<class T>(const LoopInputs<T>& in) {
                      return in.twin(loop::merge_heads<T>, vectorized::merge_heads<T>)(in[0]);
                  }),
        parameter_card("output", false),
        parameter_card("output", true),
        product_card({
            .name = "output",
            .title = "the heads, mixed by the output projection",
            .parameter = "output",
            .source = [](const Plan&) { return Chain::contexts; },
            .outline = [](const Plan& plan) { return token_outline(plan, plan.output_dim); },
            .applies = [](const Plan& plan) { return plan.config.output_projection; },
            .has_bias = [](const Plan& plan) { return plan.config.output_bias; },
            .chain = Chain::contexts,
        }),
    };
}

}  // namespace attn
