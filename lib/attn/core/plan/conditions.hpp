#pragma once
#include <algorithm>
#include <string_view>

#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/text_lines.hpp"

namespace attn {

/// Whether scores are divided by their scale, not multiplied.
inline bool divides(const Plan& plan) {
    return plan.scale.operation == ScaleFactor::Operation::divide;
}

/// True when the plan makes query, key and value from x.
inline bool projects(const Plan& plan) { return plan.config.projection != Projection::none; }

/// True when all three come out of a single product, x times w_qkv.
inline bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

/// True when a projection gives all heads side by side, so that they still have to be split.
inline bool splits_projected(const Plan& plan) {
    return projects(plan) && plan.has_head && !plan.head_axis_on_weight() && !one_product(plan);
}

bool is_alibi(const Plan& plan);
bool is_t5(const Plan& plan);

/// How frequencies are stretched for long inputs; null if they are not, or by another base alone.
const RopeScaling* stretching(const Plan& plan);

// The conditions that `when` names in attention files: `when fused, not capped`.

/// One condition of a list.
struct ConditionWord {
    std::string_view name;
    bool negated = false;
};
/// Returns the row of that name in a table that is sorted by them, its end if there is none.
template <class Row, std::size_t N>
const Row* find_named(const Row (&rows)[N], std::string_view name) {
    const Row* const row = std::ranges::lower_bound(rows, name, {}, &Row::name);
    return row != std::end(rows) && row->name == name ? row : std::end(rows);
}

/// Calls `use` for each condition of `CONDITION, not CONDITION`.
template <class Use>
void each_condition(std::string_view list, Use use) {
    while (!list.empty()) {
        const std::string_view word = taken_part(list, ",");
        const bool negated = word.starts_with("not ");
        use(ConditionWord{negated ? trimmed(word.substr(4)) : word, negated});
    }
}

/// Returns the condition of that name, null if there is none.
bool (*find_condition(std::string_view name))(const Plan&);
[[noreturn]] void refuse_condition(std::string_view name);

/// True if all conditions of the list hold.
///
/// Errors  ConfigError for a word that is no condition.
bool conditions_hold(std::string_view list, const Plan& plan);

}  // namespace attn
