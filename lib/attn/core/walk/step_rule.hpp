#pragma once
#include <optional>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// Returns the chain for a name in a rule: `queries`, `keys`, `values`, `scores`, `weights`,
/// `contexts`, also with `latest` before it; none for other names.
Chain chain_called(std::string_view name);
/// Returns the name of a chain in rules.
std::string word(Chain chain);

/// Returns the meaning of names in a rule of this step: earlier steps of the walk; `queries`,
/// `keys`, `values`, `scores` and `weights` are the latest of their chains.
RuleNames rule_names(const PlannedStep& of);

/// Returns the tensor for a name in a rule of this step: one in the ledger, or the latest of a
/// chain.
std::string tensor_called(const Ledger& ledger, const std::string& name, const std::string& step);
/// Returns the scope of a rule of this step in a ledger, which must outlive it.
RuleScope rule_scope(const Plan& plan, const Ledger& ledger, const std::string& step,
                     bool names_steps = false);

/// Returns the rule of a step for display: with the names of this walk's steps in place of chains,
/// numbers in place of settings, and without shared leading axes; empty for inputs of the walk.
std::string displayed_rule(const PlannedStep& of);
/// Returns the displayed rule as a tree.
Rule rule_as_displayed(const PlannedStep& of);

/// Returns the formula of a step in this table: its displayed rule, and the usual notation.
std::string formula_of(const Step& step, const Plan& plan, const StepTable& table);

/// Returns the computation of a step by its rule, in the dtype of the walk. The rule depends only
/// on the plan and reads its inputs by chains, not by steps of a table.
///
/// Errors  ShapeError if an earlier mistake left tensors that do not fit.
Step::Compute by_rule(const Step& step);

/// Returns the completed rule of a step; nullopt for inputs of the walk.
std::optional<Rule> rule_of(const PlannedStep& of);

}  // namespace attn
