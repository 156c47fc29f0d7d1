#include "attn/core/cards/step_table.hpp"
#include "attn/judge/mistakes/change.hpp"

// Mistakes with heads that share keys.

namespace attn {
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

}  // namespace attn
