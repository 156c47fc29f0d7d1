#include "attn/core/steps/cache.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

// The cache: keys and values of earlier tokens, and those of x after them.

bool has_past(const Plan& plan) { return plan.past_len > 0; }

Outline cache_outline(const Plan& plan, const Projected& part, std::size_t keys) {
    return {plan.per_head_axes("key", "feature"),
            plan.per_head_shape(keys, part.width(plan), part.heads(plan))};
}

Step past_card(const Projected& part) {
    const std::string name = "past_" + part.name;
    return {
        .name = name,
        .title = "the " + part.name + "s of earlier tokens, which a cache keeps",
        .kind = Step::Kind::input,
        .applies = has_past,
        .outline = [part](const Plan& plan) { return cache_outline(plan, part, plan.past_len); },
        .formula =
            [name](const PlannedStep& of) {
                return name + (of.plan.config.parameters.has(name) ? " as given" : " ~ N(0, 1)");
            },
    };
}

Step present_card(const Projected& part, Chain chain) {
    const std::string name = "present_" + part.name;
    const std::string past = "past_" + part.name;
    return with_loop(
        {
            .name = name,
            .title = "all " + part.name + "s, those of the past and those of x",
            .chain = chain,
            .applies = has_past,
            .reads = these({past, chain}),
            .outline = [part](const Plan& plan) { return cache_outline(plan, part, plan.key_len); },
            .rule =
                [name, past, chain](const PlannedStep&) {
                    return name + "[k,f] = if k < P then " + past + "[k,f] else " + word(chain) +
                           "[k - P, f]";
                },
        },
        []<class T>(const LoopInputs<T>& in) { return append_tokens(in[0], in[1]); });
}

}  // namespace

StepTable cache_cards() {
    const Projected& key = projected_of('k');
    const Projected& value = projected_of('v');
    return {past_card(key), past_card(value), present_card(key, Chain::keys),
            present_card(value, Chain::values)};
}

namespace {

// repeated_key and repeated_value: of grouped-query attention, once for each head of queries.

Step repeated_card(const Projected& part, Chain chain) {
    const std::string name = "repeated_" + part.name;
    return with_loop(
        {
            .name = name,
            .title = "the " + part.name + " that each query head reads",
            .chain = chain,
            .applies = [](const Plan& plan) { return plan.shares_keys() && !plan.fused(); },
            .reads = these({chain}),
            .outline =
                [part](const Plan& plan) {
                    return Outline{
                        plan.per_head_axes(part.position, "feature"),
                        plan.per_head_shape(plan.key_len, part.width(plan),
                                            part.number == 2 ? plan.context_heads() : plan.heads)};
                },
            .rule =
                [name, chain](const PlannedStep&) {
                    return name + "[h,t,f] = " + word(chain) + "[h / group, t, f]";
                },
        },
        []<class T>(const LoopInputs<T>& in) {
            return in.like_first(repeat_heads(in[0], in.plan.queries_per_key()));
        });
}

}  // namespace

StepTable repeated_cards() {
    return {repeated_card(projected_of('k'), Chain::keys),
            repeated_card(projected_of('v'), Chain::values)};
}

}  // namespace attn
