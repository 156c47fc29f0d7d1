#pragma once
#include <functional>
#include <optional>
#include <string>

#include "attn/rules/rule.hpp"

namespace attn {

/// Writes a node in another way than its own; nothing where it has none. What it writes stands
/// without brackets wherever a name may.
using RuleWords = std::function<std::optional<std::string>(const RuleNode&)>;

/// An expression as a rule writes it, with brackets only where they are needed: parse_rule reads it
/// back as the same tree.
std::string expression_text(const RuleNode& node, const RuleWords& words = {});

/// `weights[q,k] = exponentials[q,k] / row_sum[q]`
std::string rule_text(const Rule& rule);

}  // namespace attn
