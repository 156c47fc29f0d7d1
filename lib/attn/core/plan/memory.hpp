#pragma once
#include "attn/core/plan/plan.hpp"

namespace attn {

/// Refuses a walk whose tensors together would not fit into memory, by its sizes alone: before its
/// tokens have names and anything is drawn.
///
/// Errors  ConfigError as require_memory(plan) and resolve().
void require_memory(const WalkConfig& config);

}  // namespace attn
