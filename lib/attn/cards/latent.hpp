#pragma once
#include <string>

#include "attn/plan/plan.hpp"

namespace attn {

// What the cards of latent attention share: when they apply, and where key and value lie in
// w_key_value.

inline bool has_latents(const Plan& plan) { return plan.has_latent(); }
/// Whether queries meet the latents themselves.
inline bool is_absorbed(const Plan& plan) { return plan.absorbs(); }

/// Features of a query or key that do not rotate.
inline std::size_t still_dim(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }
/// Features of key and value of one head side by side.
inline std::size_t pair_width(const Plan& plan) { return still_dim(plan) + plan.value_dim; }

/// Where key (or value) of a head begins among these, and how many there are.
inline std::size_t first_in_head(const Plan& plan, bool is_key) {
    return is_key ? 0 : still_dim(plan);
}
inline std::size_t width_in_head(const Plan& plan, bool is_key) {
    return is_key ? still_dim(plan) : plan.value_dim;
}

/// `4:8`: indices in Python.
inline std::string head_range(std::size_t first, std::size_t count) {
    return std::to_string(first) + ":" + std::to_string(first + count);
}

}  // namespace attn
