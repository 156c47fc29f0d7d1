#pragma once
#include <optional>
#include <string>

#include "attn/core/walk/walk.hpp"

/// The rules of lint that rules.txt does not express. Each returns a line with numbers of this walk
/// if it applies.
namespace attn::lint_checks {

using Answer = std::optional<std::string>;

using Check = Answer(const Plan&, const Ledger&);

// Scale, softmax and scores.
Check softmax_axis, scale_missing, saturated, no_gradient, exp_overflow, float16_scores,
    narrow_sums, rank_one;
// Tokens, masks and parameters.
Check hidden_rows, unmasked_padding, not_finite, huge_numbers, positive_init, no_position,
    vocabulary_gaps, blind_padding;
// Positions, sizes and layouts.
Check beyond_training, equal_positions, unseen_scaling, coincident_sizes, causal_lengths, no_power;
// Caps and sinks.
Check cap_without_effect, sink_share;

/// True if this key (or query, without a memory) is padding.
bool is_padding(const Plan& plan, std::size_t batch, std::size_t position);

/// The scores that softmax reads.
inline const Tensor& softmax_input(const Ledger& ledger) { return ledger.latest(Chain::scores); }

}  // namespace attn::lint_checks
