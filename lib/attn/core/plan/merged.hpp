#pragma once
#include "attn/core/plan/plan.hpp"

namespace attn {

/// Return the heads and features of the context to merge: attention files may define others than
/// context_heads() and value_dim.
std::size_t merged_heads(const Plan& plan);
std::size_t merged_width(const Plan& plan);

}  // namespace attn
