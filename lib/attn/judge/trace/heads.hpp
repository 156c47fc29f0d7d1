#pragma once
#include <optional>
#include <vector>

#include "attn/judge/trace/align.hpp"
#include "attn/judge/trace/cores.hpp"
#include "attn/judge/trace/roles.hpp"
#include "attn/judge/trace/scores.hpp"

namespace attn {

/// One head, or all heads of one attention, in our order of axes (rest..., token, ...).
struct Heads {
    Core core{};
    Operand query{}, key{}, value{};
    std::optional<Operand> rotated_query{}, rotated_key{};
    std::optional<Operand> repeated_key{}, repeated_value{};  ///< for groups of queries
    std::optional<Pairing> pairing{};
    std::size_t rotated = 0;          ///< features
    std::vector<ScoreStep> scores{};  ///< from scores to weights
    ScoreChanges changes{};
    std::optional<Arranged> context{};
};

/// Puts an alignment together from the heads of one attention, which have the same shapes.
Alignment alignment_of(const std::vector<Traced>& trace, const Origins& origins,
                       const std::vector<Heads>& heads, const AskedWalk& base);

/// True if a program has a causal mask for so many tokens, before that place in its trace.
bool has_causal_tensor(const std::vector<Traced>& trace, std::size_t before, std::size_t tokens);

/// The calls of attention that PyTorch computes as a whole. A trace names what goes in and what
/// comes out `step query`, `step output`, ..., and ends each with `step heads`.
std::vector<Alignment> alignments_of_calls(const std::vector<Traced>& trace, const AskedWalk& base);

}  // namespace attn
