#pragma once
#include <string>
#include <vector>

#include "attn/mistakes/change.hpp"

namespace attn {

// What mistakes of the rotation share.

inline const std::vector<std::string> rotated_steps{"rotated_query", "rotated_key"};

/// What stands in front of the names of the angles that rotate a step.
inline std::string angle_prefix(const Plan& plan, const std::string& step) {
    return step == "rotated_key" && plan.has_memory ? "memory_" : "";
}

/// Whether a part of each head stays as it is.
inline bool is_partial(const Plan& plan) {
    return 2 * plan.rotary_pairs() < plan.head_dim && plan.first_rotated(plan.head_dim) == 0;
}

/// The rule of a rotation: `left` is turned by `angle`, of which `PAIR` is the number of the pair.
std::string rotation_rule(const Plan& plan, const std::string& left, const std::string& right,
                          std::size_t first, std::size_t pairs, const std::string& angle);

/// Values that rotate with query and key.
void add_rotated_value_mistakes(std::vector<Mistake>& list);

}  // namespace attn
