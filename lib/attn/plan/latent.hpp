#pragma once
#include "attn/plan/plan.hpp"

namespace attn {

/// Checks multi-head latent attention and says which features of a head rotate: the widths of the
/// heads must be known. Does nothing without a latent.
///
/// Errors  ConfigError naming the setting.
void resolve_latent(Plan& plan);

/// Checks differential attention against the rest of the walk; does nothing without it.
///
/// Errors  ConfigError naming the setting.
void check_differential(const Plan& plan);

}  // namespace attn
