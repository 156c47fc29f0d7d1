#pragma once
#include "attn/plan/plan.hpp"

namespace attn {

/// The part of a walk that is held: what grows with the tokens, or also a cell for each query and
/// key.
enum class Kept { inputs, everything };

/// How many bytes the tensors of the walk take together. With --variant fused there are no cells
/// for each query and key.
double bytes_needed(const Plan& plan, Kept kept = Kept::everything);

/// Refuses what would not fit into this machine's memory, or nobody would read.
///
/// Errors  ConfigError with the size needed, the size there is, and what to ask for instead.
void require_bytes(const Plan& plan, double needed);

/// The same for a walk that holds everything.
void require_memory(const Plan& plan);

}  // namespace attn
