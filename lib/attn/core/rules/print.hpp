#pragma once
#include <functional>
#include <string>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/rule.hpp"

namespace attn {

/// An expression as a rule writes it, with brackets only where they are needed: parse_rule reads it
/// back as the same tree.
std::string expression_text(const RuleNode& node);

/// `weights[q,k] = exponentials[q,k] / row_sum[q]`
std::string rule_text(const Rule& rule);

/// The number of a setting: a root of a whole number as `sqrt(2)`, which has all its digits.
RuleTree setting_node(double number);

}  // namespace attn
