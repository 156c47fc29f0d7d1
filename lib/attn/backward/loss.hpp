#pragma once
#include "attn/backward/backward.hpp"

namespace attn {

/// Adds the steps that bring a walk to one number: `target` or `upstream` where the loss has one,
/// and `loss`.
void add_loss(StepTable& table, const Plan& plan, const Loss& loss);

}  // namespace attn
