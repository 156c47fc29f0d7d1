#include "attn/core/cards/step_table.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Mistakes with heads that share keys, and with exchanged keys and values or sources.

namespace attn {
namespace {

/// Returns the index of key features after the rows of their weight were rearranged into halves for
/// the number of query heads instead of key heads.
std::string rearranged_for_query_heads(const Plan& plan) {
    const bool is_split = !walk_has(plan, "projected_key");
    const std::string half = std::to_string(plan.kv_heads * plan.head_dim / plan.heads / 2);
    // Neighbours in the file become the two halves of a block; with the right number of heads they
    // would become the two halves of a head.
    const std::string stored =
        filled("({at} - {at} % {block} + 2 * ({at} % {block} % {half}) + {at} % {block} / {half})",
               {{"at", is_split ? "(h * D + f)" : "c"},
                {"block", std::to_string(plan.kv_heads * plan.head_dim / plan.heads)},
                {"half", half}});
    const std::string from =
        filled("({stored} - {stored} % D + {stored} % D / 2 + {stored} % D % 2 * (D / 2))",
               {{"stored", stored}});
    return is_split ? "key[h,t,f] = key[" + from + " / D, t, " + from + " % D]"
                    : "projected_key[t,c] = projected_key[t, " + from + "]";
}

}  // namespace

/// Repeats the tokens of each key head; the kernel also shares the heads on its own.
TableEdit repeat_tokens(const std::string&) {
    const auto edit = [](const std::string& step, const std::string& chain) {
        return follows({.rule = step + "[h,k,f] = " + chain + "[h / group, k / group, f]",
                        .outline = [step](const Plan& plan) {
                            Outline outline = find_step(step_table(), step).outline(plan);
                            outline.shape[outline.shape.size() - 2] *= plan.queries_per_key();
                            return outline;
                        }});
    };
    return all_of(
        {edit("repeated_key", "keys"), edit("repeated_value", "values"),
         with_plan({"scores", "scaled_scores", "capped_scores", "mask", "masked_scores", "row_max",
                    "exponentials", "row_sum", "weights", "sink_weight", "context"},
                   [](Plan& plan) {
                       plan.key_len *= plan.queries_per_key();
                       plan.config.causal_align = CausalAlign::end;
                   })});
}

TableEdit rearrange_for_query_heads(const std::string&) {
    return follows(rearranged_for_query_heads);
}

/// Splits the projection of latents with each head's value before its key.
TableEdit read_value_first(const std::string&) {
    constexpr std::string_view first = "o - o % {both} + (o % {both} + Dv) % {both}";
    const auto read = [first](const char* before, const char* after) {
        return [=](const Plan& plan) {
            return in_words(before + std::string(first) + after, "", plan);
        };
    };
    return all_of(
        {reads({"key", "value"}, "projected_key_value",
               read("projected_key_value[t,o] = projected_key_value[t, ", "]")),
         reads({"absorbed_query", "expanded_context"}, "w_key_value", [=](const Plan& plan) {
             return *plan.config.weight_layout == WeightLayout::out_in
                        ? read("w_key_value[o,i] = w_key_value[", ", i]")(plan)
                        : read("w_key_value[i,o] = w_key_value[i, ", "]")(plan);
         })});
}

/// Exchanges x and memory in the steps that read them.
TableEdit exchange_sources(const std::string&) {
    const auto x = [](const Plan& plan) { return plan.projected_x(); };
    return all_of({reads({"projected_query", "query"}, x, "memory"),
                   reads({"projected_key", "projected_value", "key", "value"}, "memory", x),
                   with_plan({}, [](Plan& plan) { std::swap(plan.query_len, plan.key_len); })});
}

}  // namespace attn
