#include "attn/walk/positions.hpp"

#include <cmath>
#include <numeric>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

void require(bool fine, const std::string& message) {
    if (!fine) throw ConfigError(message);
}

/// One position for each token, 0, 1, 2, ... where none are given.
void resolve_tokens(std::vector<std::int64_t>& positions, std::size_t tokens, const char* of) {
    if (positions.empty()) {
        positions.resize(tokens);
        std::iota(positions.begin(), positions.end(), 0);
    }
    require(positions.size() == tokens, "--positions gives " + std::to_string(positions.size()) +
                                            " for the " + std::to_string(tokens) + " tokens of " +
                                            of + ": give one for each");
}

void resolve_rotary(Plan& plan) {
    Rotary& rotary = plan.config.rotary;
    require(std::isfinite(rotary.theta) && rotary.theta > 0,
            "--rope-theta must be a number above 0: models take 10000 to 8000000");
    if (!plan.rotates()) return;
    const auto head_dim = static_cast<std::int64_t>(plan.head_dim);
    const std::string width = std::to_string(head_dim);
    require(rotary.dim || head_dim % 2 == 0,
            "--rope turns features in pairs, and head-dim " + width +
                " is odd: pass another --head-dim" +
                (head_dim > 1 ? ", or --rotary-dim " + std::to_string(head_dim - 1) : ""));
    rotary.dim = rotary.dim.value_or(head_dim);
    const std::string given = "--rotary-dim " + std::to_string(*rotary.dim);
    require(*rotary.dim >= 2 && *rotary.dim % 2 == 0,
            given + " is no even number from 2 on: features turn in pairs");
    require(*rotary.dim <= head_dim,
            given + " is more than the " + width + " features of a head: pass at most " + width);
}

}  // namespace

void resolve_positions(Plan& plan) {
    WalkConfig& config = plan.config;
    resolve_tokens(config.positions, plan.query_len, "x");
    require(plan.has_memory || config.memory_positions.empty(),
            "--positions has a second list, for a memory, and there is none: leave it out");
    if (plan.has_memory) resolve_tokens(config.memory_positions, plan.key_len, "memory");
    resolve_rotary(plan);
}

}  // namespace attn
