#pragma once
#include <string>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// Mistakes in backward passes written by hand. Each is another rule for a gradient, made in a
/// table with gradients (with_gradients).
const std::vector<Mistake>& gradient_mistakes();

/// The one of that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// The table with these made.  Errors  ConfigError for an unknown one, one that cannot show in
/// this walk and a table without gradients.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

}  // namespace attn
