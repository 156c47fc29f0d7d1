#pragma once
#include "attn/plan/plan.hpp"

namespace attn {

/// Checks differential attention against the rest of the walk; does nothing without it.
///
/// Errors  ConfigError naming the setting.
void check_differential(const Plan& plan);

}  // namespace attn
