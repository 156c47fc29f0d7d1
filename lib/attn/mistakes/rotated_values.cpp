#include "attn/cards/step_table.hpp"
#include "attn/mistakes/rotation.hpp"
#include "attn/rules/inline.hpp"
#include "attn/rules/print.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

// Values that rotate with query and key: where the context reads them, or as soon as they are made.

/// The values rotated as the keys are. The angles follow from the plan alone, and where they come
/// later in the walk than the values, nothing else is named.
std::string rotated_rule(const Plan& plan, const std::string& tensor, bool names_angles) {
    const std::string prefix = plan.has_memory ? "memory_" : "";
    const std::string text =
        rotation_rule(plan, tensor + "[t,f", tensor + "[t,f", 0, plan.rotary_pairs(),
                      prefix + "positions[t] * inverse_frequencies[PAIR]");
    if (names_angles) return text;
    const StepTable& table = step_table();
    const PlannedStep later{plan, table, find_step(table, "rotated_key")};
    const Rule rule =
        completed(parse_rule(text), find_step(table, tensor).outline(plan), rule_names(later));
    return rule_text(inlined(rule, [&](const std::string& name) {
        return name == tensor ? std::nullopt : rule_of({plan, table, find_step(table, name)});
    }));
}

Mistake values_rotate(const char* id, const char* step, const char* title, TableEdit edit) {
    return entry(id, step, title,
                 "weights are right, the context is not, except for tokens at position 0",
                 "q, k = apply_rotary_pos_emb(q, k, cos, sin)  # and leave v alone",
                 "q, k = rotate(q, cos, sin), rotate(k, cos, sin)  # and leave v alone",
                 "Positions say whom to look at, not what is there: values do not rotate.",
                 "values that rotate",
                 rope_and(
                     [](const Plan& plan) {
                         return plan.value_dim >= 2 * plan.rotary_pairs() && !plan.fused() &&
                                plan.past_len == 0 && plan.first_rotated(plan.head_dim) == 0;
                     },
                     "the values have fewer features than rotate, or a past or a latent"),
                 std::move(edit));
}

}  // namespace

void add_rotated_value_mistakes(std::vector<Mistake>& list) {
    list.push_back(values_rotate("rope-value", "context", "The values were rotated too",
                                 reads({"context"}, "values", [](const Plan& plan) {
                                     return rotated_rule(plan, "values", true);
                                 })));
    list.push_back(values_rotate(
        "rope-value=kept", "value", "The values were rotated too, and kept so",
        follows([](const Plan& plan) { return rotated_rule(plan, "value", false); })));
}

}  // namespace attn
