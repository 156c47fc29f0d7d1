#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/plan/plan.hpp"

namespace attn {

/// A walk with other sizes or other parameters.
struct OtherShape {
    std::string text;  ///< `$seq-len 7`
    std::function<void(WalkConfig&)> change;
    bool is_size = true;  ///< else other parameters, which a proof covers anyway
};

/// Returns the sizes to try: each number of tokens, heads and features, and each setting of the
/// files that is an integer, such as the length of a chunk.
std::vector<OtherShape> shapes_of(const Plan& plan);
OtherShape with_length(std::int64_t tokens);

/// Returns the plan with random inputs of other sizes; nullopt if its inputs are given, or its
/// settings do not allow them.
std::optional<Plan> reshaped(const Plan& plan, const OtherShape& shape);

}  // namespace attn
