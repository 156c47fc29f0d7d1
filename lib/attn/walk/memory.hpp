#pragma once
#include "attn/walk/plan.hpp"

namespace attn {

/// Refuses a walk whose tensors would not fit into this machine's memory, before any is taken.
///
/// Errors  ConfigError with the size needed and the size there is.
void require_memory(const Plan& plan);

}  // namespace attn
