#pragma once
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"

namespace attn {

/// What people get wrong who write the way back by hand. Each is made in a table that goes back
/// (with_gradients), as another rule for a gradient; none in others.
const std::vector<Mistake>& gradient_mistakes();

/// The one of that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// The table with these made.  Errors  ConfigError for one that cannot show in this walk.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

/// What somebody's gradients are, next to ours.
struct GradientDiagnosis {
    std::vector<std::string> compared{};  ///< the gradients of theirs, by our names
    std::vector<std::string> wrong{};     ///< those that are not ours
    std::vector<const Mistake*> fits{};   ///< the mistakes that make all of theirs
};

/// Takes the gradients out of somebody's tensors, by names in use (`d_scores`, `dq`, `grad_q`,
/// `q.grad`), and compares them with those of the walk; where some differ, with those of each
/// mistake.
GradientDiagnosis diagnose_gradients(const Plan& plan, const Ledger& given, const StepTable& table,
                                     const Ledger& theirs);

/// The steps that a name of a gradient may be of, the likeliest first; empty for other names.
std::vector<std::string> gradient_called(const std::string& name);

}  // namespace attn
