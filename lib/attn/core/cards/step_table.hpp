#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/memory_needs.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// Returns the table for one walk: query and key may be normalised after their rotation, and rules
/// of the user replace steps.
///
/// Errors  ConfigError as with_rules.
const StepTable& step_table(const Plan& plan);

/// Returns the memory of all tensors of a walk.
MemoryNeeds memory_needs(const Plan& plan);

/// Computes a walk with the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

/// Makes a step follow another rule: its computation in the dtype of the walk from earlier steps,
/// its formula, its code and its derivations. `of` is the step in its table. Returns the completed
/// rule.
///
/// Errors  ConfigError with a caret, for unknown names, and for a boolean in place of a number.
Rule follow_rule(Step& step, const PlannedStep& of, const Rule& rule);

/// Requires that letters of axes are used for their own axes: `b` cannot be the head.
/// Errors  ConfigError with a caret.
void require_own_letters(const Rule& rule, const Outline& outline);

/// Makes steps read the result of a user's rule if they would recompute it, as softmax does with
/// its parts, and shows its inputs.
void follow_sums_of_parts(StepTable& table, const Plan& plan);

/// Returns the table with the attention files of the plan: steps with other rules, new steps, and
/// their parameters. Steps without readers are removed.
///
/// Errors  InputError with file, line and caret, ConfigError under the fused variant.
StepTable with_attentions(StepTable table, const Plan& plan);

/// Returns the steps that the last one of a walk depends on, and those shown on request.
std::set<std::string> needed_steps(const StepTable& table, const Plan& plan);

/// Makes a walk begin at a given step: it has no inputs, and steps that only lead to it, or that
/// nothing computes, are removed.
///
/// Errors  ConfigError under the fused variant.
void begin_at(const std::string& beginning, StepTable& table, const Plan& plan);

/// Shows the parts of softmax that a step is or reads: its program needs them.
void show_parts(Step& step, StepTable& table, const Plan& plan);

/// Returns the table with rules of the user in place of steps: each computes its tensor in the
/// dtype of the walk, from earlier steps.
///
/// Errors  ConfigError as parse_rule; for a name that is not a computed step of this walk, for a
///         tensor that is missing or computed later, and under the fused variant.
StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules);

}  // namespace attn
