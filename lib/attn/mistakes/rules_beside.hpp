#pragma once
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"

namespace attn {

/// The rule that a step should follow, and the one that it follows with a mistake.
struct RulesBeside {
    std::string right, wrong;
};

/// The rules that a mistake changes, in the first of some small walks where it can show; none where
/// it shows in none of them, or no rule says what it does.
std::vector<RulesBeside> rules_beside(const Mistake& mistake);

}  // namespace attn
