#pragma once
#include <string>
#include <vector>

#include "attn/plan/plan.hpp"

namespace attn {

/// The tokens of x, or those of the memory, and the names of the steps on their positions.
struct Standing {
    bool of_memory;

    std::string name(const std::string& step) const { return of_memory ? "memory_" + step : step; }
    bool applies(const Plan& plan) const {
        return plan.rotates() && (!of_memory || plan.has_memory);
    }
    /// Whether there is a step for the positions alone.
    bool counts(const Plan& plan) const {
        return applies(plan) || (!of_memory && plan.adds_positions());
    }
    const std::vector<std::int64_t>& positions(const Plan& plan) const {
        return of_memory ? plan.config.memory_positions : plan.config.positions;
    }
};

}  // namespace attn
