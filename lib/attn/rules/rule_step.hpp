#pragma once
#include <map>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// The settings that a rule of this plan may name: `H` heads, `G` heads of keys and values, `group`
/// queries for each of these, `D` head_dim, `Dv` value_dim, `C` embed_dim, `Tq` and `Tk` queries
/// and keys, `P` keys of the past, `scale` what scores are divided by, `cap` of the scores where
/// there is one, and `pi`.
std::map<std::string, double> rule_settings(const Plan& plan);

/// The table with rules of a user in the place of steps: each makes its tensor in the type of the
/// walk, from the steps before it. `queries`, `keys`, `values`, `scores` and `weights` are the
/// latest of their chains. Rules without their step in this walk are refused.
///
/// Errors  ConfigError as parse_rule; for a name that is no computed step of this walk, for a
///         tensor that is not there or made later, and under the fused variant.
StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules);

}  // namespace attn
