#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// The same of one walk: query and key may be normalised after they rotate, and rules of the user
/// take the place of steps.
///
/// Errors  ConfigError as with_rules.
const StepTable& step_table(const Plan& plan);

/// Walks the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

/// Makes a step follow another rule: its number in the type of the walk, from the steps before it,
/// its formula, its code and where its cells come from. `of` is the step in its table.
///
/// Errors  ConfigError with a caret, of names that are not there, and of a truth where a number is
///         due.
void follow_rule(Step& step, const PlannedStep& of, const Rule& rule);

/// Details of softmax that a step is or reads, shown: its program is to have them.
void show_parts(Step& step, StepTable& table, const Plan& plan);

/// The mark of a step with a user's rule, in the place of a mistake's id.
inline constexpr const char* users_rule = "your rule";

/// The table with rules of a user in the place of steps: each makes its tensor in the type of the
/// walk, from the steps before it. Rules without their step in this walk are refused.
///
/// Errors  ConfigError as parse_rule; for a name that is no computed step of this walk, for a
///         tensor that is not there or made later, and under the fused variant.
StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules);

}  // namespace attn
