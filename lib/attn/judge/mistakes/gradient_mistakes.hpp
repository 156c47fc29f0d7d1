#pragma once
#include <string>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// Mistakes of people who write the way back by hand. Each is made in a table that goes back
/// (with_gradients), as another rule for a gradient; none in others.
const std::vector<Mistake>& gradient_mistakes();

/// The one of that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// The table with these made.  Errors  ConfigError for an unknown one, one that cannot show in
/// this walk and a table that does not go back.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

}  // namespace attn
