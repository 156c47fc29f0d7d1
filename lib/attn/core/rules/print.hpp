#pragma once
#include <functional>
#include <string>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/rule.hpp"

namespace attn {

/// Formats an expression in the notation of rules, with brackets only if needed: parse_rule reads
/// it back as the same tree.
std::string expression_text(const RuleNode& node);

/// Returns `weights[q,k] = exponentials[q,k] / row_sum[q]`.
std::string rule_text(const Rule& rule);

/// Returns the number of a setting: the square root of an integer as `sqrt(2)`, which is exact.
RuleTree setting_node(double number);

}  // namespace attn
