#include "attn/core/cards/step_table.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Mistakes with heads that share keys.

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

}  // namespace attn
