#pragma once
#include <optional>
#include <vector>

#include "attn/judge/trace/align.hpp"
#include "attn/judge/trace/cores.hpp"
#include "attn/judge/trace/roles.hpp"
#include "attn/judge/trace/scores.hpp"

namespace attn {

/// One head, or all heads of an attention, in our order of axes (rest..., token, ...).
struct Heads {
    Core core{};
    Operand query{}, key{}, value{};
    std::optional<Operand> rotated_query{}, rotated_key{};
    std::optional<Operand> repeated_key{}, repeated_value{};  ///< for groups of queries
    std::optional<Pairing> pairing{};
    std::size_t rotated = 0;          ///< features
    std::vector<ScoreStep> scores{};  ///< the steps from scores to weights
    ScoreChanges changes{};
    std::optional<Arranged> context{};
};

/// Builds an alignment from the heads of one attention, which have the same shapes.
Alignment alignment_of(const std::vector<Traced>& trace, const Origins& origins,
                       const std::vector<Heads>& heads, const AskedWalk& base);

/// True if the program has a causal mask for that many tokens, before that place in its trace.
bool has_causal_tensor(const std::vector<Traced>& trace, std::size_t before, std::size_t tokens);

/// Finds the attentions that PyTorch computes in a single call. A trace names the inputs and
/// outputs `step query`, `step output`, ..., and ends each call with `step heads`.
std::vector<Alignment> alignments_of_calls(const std::vector<Traced>& trace, const AskedWalk& base);

}  // namespace attn
