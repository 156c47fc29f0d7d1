#pragma once
#include <span>

#include "attn/core/walk/walk.hpp"

namespace attn {

/// The memory of the tensors of some steps, by their outlines.
struct MemoryNeeds {
    double bytes = 0;
    const Step* largest = nullptr;  ///< among the steps
    double largest_bytes = 0;
};
MemoryNeeds memory_needs(std::span<const Step> steps, const Plan& plan,
                         Details details = Details::kept);

/// Refuses steps that, with the names of the tokens, would need more memory than the machine has.
///
/// Errors  ConfigError with both sizes, and alternatives.
void require_memory(std::span<const Step> steps, const Plan& plan, Details details = Details::kept);

}  // namespace attn
