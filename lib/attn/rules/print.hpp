#pragma once
#include <string>

#include "attn/rules/rule.hpp"

namespace attn {

/// An expression as a rule writes it, with brackets only where they are needed: parse_rule reads it
/// back as the same tree.
std::string expression_text(const RuleNode& node);

/// `weights[q,k] = exponentials[q,k] / row_sum[q]`
std::string rule_text(const Rule& rule);

}  // namespace attn
