#pragma once
#include <algorithm>
#include <string_view>

#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/text_lines.hpp"

namespace attn {

/// True if scores are divided by their scale, not multiplied.
inline bool divides(const Plan& plan) {
    return plan.scale.operation == ScaleFactor::Operation::divide;
}

/// True if the plan computes query, key and value from x.
inline bool projects(const Plan& plan) { return plan.config.projection != Projection::none; }

/// True if all three come from a single product, x times w_qkv.
inline bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

/// True if a projection returns all heads side by side, which are then split.
inline bool splits_projected(const Plan& plan) {
    return projects(plan) && plan.has_head && !plan.head_axis_on_weight() && !one_product(plan);
}

bool is_alibi(const Plan& plan);
bool is_t5(const Plan& plan);

/// Returns the frequency scaling for long inputs; null if there is none, or if it only changes the
/// base.
const RopeScaling* stretching(const Plan& plan);

// Conditions of `when` in attention files: `when fused, not capped`.

/// A condition in a list.
struct ConditionWord {
    std::string_view name;
    bool negated = false;
};
/// Finds the row with that name in a table sorted by name; the table's end if there is none.
template <class Row, std::size_t N>
const Row* find_named(const Row (&rows)[N], std::string_view name) {
    const Row* const row = std::ranges::lower_bound(rows, name, {}, &Row::name);
    return row != std::end(rows) && row->name == name ? row : std::end(rows);
}

/// Calls `use` for each condition of `CONDITION, not CONDITION`.
template <class Use>
void each_condition(std::string_view list, Use use) {
    while (!list.empty()) {
        const std::string_view word = next_part(list, ",");
        const bool negated = word.starts_with("not ");
        use(ConditionWord{negated ? trimmed(word.substr(4)) : word, negated});
    }
}

/// Returns the condition with that name, null if there is none.
bool (*find_condition(std::string_view name))(const Plan&);
[[noreturn]] void refuse_condition(std::string_view name);

/// True if all conditions of the list are true.
///
/// Errors  ConfigError for an unknown condition.
bool conditions_true(std::string_view list, const Plan& plan);

}  // namespace attn
