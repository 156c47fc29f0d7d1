#pragma once
#include <string>
#include <string_view>

#include "attn/core/plan/config.hpp"

namespace attn {

// A walk may begin at given scores or weights, without query and key; or at query and key without
// value, in which case it ends at the weights.

/// True if a walk may begin at that step, after query and key.
bool is_beginning(std::string_view step);

/// Returns the first given step after query and key, unless these are given as well: `scores`,
/// `scaled_scores`, `masked_scores` or `weights`. `query` if query and key are given but not value;
/// empty if all three are, or none of these steps is.
std::string given_beginning(const Ledger& given);

/// Returns that step of a walk; empty if the walk has x or projections.
std::string beginning_of(const WalkConfig& config);

/// Removes settings of earlier steps from such a configuration: the scale of scaled scores, the
/// mask of masked ones, and the rotation and norms of query and key.
void leave_out_before(const std::string& beginning, WalkConfig& config);

}  // namespace attn
