#pragma once
#include <array>
#include <string>

#include "attn/core/plan/plan.hpp"

namespace attn {

/// One of query, key and value: a projection of x, or of memory.
struct Projected {
    std::size_t number;  ///< its index in w_qkv
    std::string name;
    std::string position;  ///< the axis of its tokens, if they are all keys

    char letter() const { return name.front(); }
    bool of_memory(const Plan& plan) const { return number > 0 && plan.has_memory; }
    std::string source(const Plan& plan) const {
        if (number == 0 && plan.config.latent.query_rank) return "normed_query_latent";
        return of_memory(plan) ? "memory" : plan.projected_x();
    }
    /// Returns the features of its source.
    std::size_t inputs(const Plan& plan) const {
        if (number > 0) return plan.memory_dim;
        const auto& query_rank = plan.config.latent.query_rank;
        return query_rank ? static_cast<std::size_t>(*query_rank) : plan.embed_dim;
    }
    /// Returns the features per head.
    std::size_t width(const Plan& plan) const {
        return number == 0 ? plan.head_dim : number == 1 ? plan.key_dim() : plan.mixed_dim();
    }
    std::size_t heads(const Plan& plan) const {
        return number == 0 ? plan.heads : number == 1 ? plan.kv_heads : plan.value_heads();
    }
    /// Returns the features of all heads side by side.
    std::size_t all_features(const Plan& plan) const { return heads(plan) * width(plan); }
    /// Returns the axis of its tokens: with a past, those of x are not all keys.
    std::string axis(const Plan& plan) const {
        return number > 0 && plan.past_len > 0 ? "token" : position;
    }
    std::size_t length(const Plan& plan) const {
        return number == 0 ? plan.query_len : plan.new_keys();
    }
    /// Returns the suffix of its w_ and b_: `query` or, if all three share one weight, `qkv`.
    std::string parameter(const Plan& plan) const { return plan.one_weight() ? "qkv" : name; }
};

/// Returns query, key and value, in this order.
const std::array<Projected, 3>& query_key_value();

/// Returns the projection whose name begins with that letter.
const Projected& projected_of(char letter);

}  // namespace attn
