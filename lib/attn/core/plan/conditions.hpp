#pragma once
#include <string_view>
#include <vector>

#include "attn/core/plan/plan.hpp"

namespace attn {

// The conditions that `when` names in attention files: `when fused, not capped`.

/// One condition of a list.
struct ConditionWord {
    std::string_view name;
    bool negated = false;
};
std::vector<ConditionWord> condition_words(std::string_view list);

/// Returns the condition of that name, null if there is none.
bool (*find_condition(std::string_view name))(const Plan&);
[[noreturn]] void refuse_condition(std::string_view name);

/// True if all conditions of the list hold.
///
/// Errors  ConfigError for a word that is no condition.
bool conditions_hold(std::string_view list, const Plan& plan);

}  // namespace attn
