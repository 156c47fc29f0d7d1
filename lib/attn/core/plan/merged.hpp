#pragma once
#include "attn/core/plan/plan.hpp"

namespace attn {

/// The heads and features of the context that is merged: attention files may make others than
/// context_heads() and value_dim.
std::size_t merged_heads(const Plan& plan);
std::size_t merged_width(const Plan& plan);

}  // namespace attn
