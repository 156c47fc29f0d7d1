#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/room.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// The same of one walk: query and key may be normalised after they rotate, and rules of the user
/// take the place of steps.
///
/// Errors  ConfigError as with_rules.
const StepTable& step_table(const Plan& plan);

/// What the tensors of a walk take together.
Room room_of(const Plan& plan);

/// Walks the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

/// Makes a step follow another rule: its number in the type of the walk, from the steps before it,
/// its formula, its code and where its cells come from. `of` is the step in its table.
///
/// Errors  ConfigError with a caret, of names that are not there, and of a truth where a number is
///         due.  Returns the rule, completed.
Rule follow_rule(Step& step, const PlannedStep& of, const Rule& rule);

/// Where letters stand for axes, each stands for its own: `b` cannot be the head.
/// Errors  ConfigError with a caret.
void require_own_letters(const Rule& rule, const Outline& made);

/// Steps that computed what a rule now makes by themselves, as softmax does with its parts, read
/// it; what they read is shown.
void let_parts_follow(StepTable& table, const Plan& plan);

/// The table with the attention files of the plan: steps that follow other rules, new ones, and
/// their parameters. What nobody reads any more leaves the walk.
///
/// Errors  InputError with file, line and caret, ConfigError under the fused variant.
StepTable with_attentions(StepTable table, const Plan& plan);

/// The steps that the last one of a walk is made of, with those that are shown on request.
std::set<std::string> needed_steps(const StepTable& table, const Plan& plan);

/// Lets a walk begin at a step that is given: it is made of nothing, and whatever leads to it alone
/// leaves the table, with the steps that nothing makes.
///
/// Errors  ConfigError under the fused variant.
void begin_at(const std::string& beginning, StepTable& table, const Plan& plan);

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
