#pragma once
#include <string>
#include <string_view>

#include "attn/core/plan/config.hpp"

namespace attn {

// A walk may begin at scores or weights that somebody has, without query and key; or at query and
// key without value, and then it ends at the weights.

/// Whether a walk may begin at that step, after query and key.
bool is_beginning(std::string_view step);

/// The first step after query and key that is among given tensors, where these do not make it
/// anew: `scores`, `scaled_scores`, `masked_scores` or `weights`. `query` if query and key are
/// given and value is not; empty if all three are, or none of these is.
std::string given_beginning(const Ledger& given);

/// The same of a walk: empty unless it has neither x nor projections.
std::string beginning_of(const WalkConfig& config);

/// Takes from a configuration that begins so whatever comes before: the scale of scores that are
/// scaled, the mask of those that are masked, and what turns or norms query and key.
void leave_out_before(const std::string& beginning, WalkConfig& config);

}  // namespace attn
