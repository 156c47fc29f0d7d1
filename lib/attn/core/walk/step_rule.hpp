#pragma once
#include <optional>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// The chain that a name in a rule stands for: `queries`, `keys`, `values`, `scores`, `weights`,
/// `contexts`; none for all others.
Chain chain_called(const std::string& name);
/// And the name that a chain has there.
std::string word(Chain chain);

/// The meaning of names in a rule of this step: the steps of the walk before it; `queries`,
/// `keys`, `values`, `scores` and `weights` are the latest of their chains.
RuleNames rule_names(const PlannedStep& of);

/// The tensor of a name in a rule of this step: one of the ledger, or the latest of a chain.
std::string tensor_called(const Ledger& ledger, const std::string& name, const std::string& step);
/// The meaning of names in a rule of this step in a ledger, which it must not outlive.
RuleScope rule_scope(const Plan& plan, const Ledger& ledger, const std::string& step,
                     bool names_steps = false);

/// The rule of a step as it is told: the names of this walk's steps in the place of chains, numbers
/// in the place of settings, without the axes that all share; empty for what the walk starts from.
std::string told_rule(const PlannedStep& of);
/// The same as a rule.
Rule rule_as_told(const PlannedStep& of);

/// The formula of a step of this table: its rule as it is told, and how the field writes it.
std::string formula_of(const Step& step, const Plan& plan, const StepTable& table);

/// The step as its rule makes it, in the type of the walk. The rule follows from the plan and calls
/// what it reads by chains, not by the steps that a table has.
///
/// Errors  ShapeError where a mistake before it left tensors that do not fit.
Step::Compute by_rule(const Step& step);

/// The rule of a step, completed; nothing for one that the walk starts from.
std::optional<Rule> rule_of(const PlannedStep& of);

}  // namespace attn
