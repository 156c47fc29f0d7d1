#pragma once
#include "attn/plan/plan.hpp"

namespace attn {

/// Fills in where tokens stand and which features rotate, and checks that they and the norms of
/// query and key fit the sizes, which the plan must have.
///
/// Errors  ConfigError naming the setting.
void resolve_positions(Plan& plan);

}  // namespace attn
