#pragma once
#include <string>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// Mistakes in hand-written backward passes. Each replaces the rule of a gradient, in a table with
/// gradients (with_gradients).
const std::vector<Mistake>& gradient_mistakes();

/// Returns the mistake with that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// Returns the table with these mistakes.  Errors  ConfigError for an unknown mistake, one that
/// has no effect in this walk, and a table without gradients.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

}  // namespace attn
