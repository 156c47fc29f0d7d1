#pragma once
#include "attn/core/plan/plan.hpp"

namespace attn {

/// Fills in where tokens are and which features rotate, and checks that they and the norms of
/// query and key fit the sizes, which the plan must have.
///
/// Errors  ConfigError naming the setting.
void resolve_positions(Plan& plan);

/// Checks multi-head latent attention and says which features of a head rotate: the widths of the
/// heads must be known. Does nothing without a latent.
///
/// Errors  ConfigError naming the setting.
void resolve_latent(Plan& plan);

/// Checks differential attention against the rest of the walk; does nothing without it.
///
/// Errors  ConfigError naming the setting.
void check_differential(const Plan& plan);

/// Checks dropout, fills in its seed and makes a given mask one of the parameters, with a cell for
/// each of its place.
///
/// Errors  ConfigError or ShapeError naming the setting.
void resolve_dropout(Plan& plan);

/// Refuses chunks where the keys of a later one would be seen, or are not made from x.
///
/// Errors  ConfigError naming the setting.
void refuse_prefill(const Plan& plan);

}  // namespace attn
