#pragma once
#include "attn/core/plan/plan.hpp"

namespace attn {

/// Returns a size, which must be at least 1.
///
/// Errors  ConfigError naming the setting `what`.
std::size_t positive(std::int64_t size, const char* what);

/// Fills in the numbers of sequences, queries and keys and the width of x, from the sources and the
/// settings.
///
/// Errors  ConfigError or ShapeError naming the setting.
void resolve_sequences(Plan& plan);

/// Fills in positions and rotated features, and checks that they and the norms of query and key fit
/// the sizes, which the plan must have.
///
/// Errors  ConfigError naming the setting.
void resolve_positions(Plan& plan);

/// Checks multi-head latent attention and determines the rotated features of a head: the widths of
/// the heads must be known. Does nothing without a latent.
///
/// Errors  ConfigError naming the setting.
void resolve_latent(Plan& plan);

/// Checks differential attention against the rest of the walk; does nothing without it.
///
/// Errors  ConfigError naming the setting.
void check_differential(const Plan& plan);

/// Checks dropout, fills in its seed and makes a given mask a parameter, broadcast to all cells of
/// its place.
///
/// Errors  ConfigError or ShapeError naming the setting.
void resolve_dropout(Plan& plan);

/// Refuses chunks if queries see keys of later ones, or keys are not made from x.
///
/// Errors  ConfigError naming the setting.
void refuse_prefill(const Plan& plan);

}  // namespace attn
