#pragma once
#include "attn/walk/step.hpp"

namespace attn {

/// The table with two steps behind each gradient: `d_scores_central`, what the loss changes by when
/// the cell is moved a little up and down in float64, and `d_scores_error`, how far the gradient is
/// from that.
///
/// Errors  ConfigError, when it is walked, where that takes more than a hundred thousand walks.
StepTable with_gradient_checks(const StepTable& table, const Plan& plan);

}  // namespace attn
