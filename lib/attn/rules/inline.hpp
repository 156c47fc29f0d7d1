#pragma once
#include <functional>
#include <optional>

#include "attn/rules/rule.hpp"

namespace attn {

/// The rule with the rules of other steps in the place of their cells: those for which `made` knows
/// one, and what these read in turn. All must be completed.
Rule inlined(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made);

}  // namespace attn
