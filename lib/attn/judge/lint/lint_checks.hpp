#pragma once
#include <optional>
#include <string>

#include "attn/core/walk/walk.hpp"

/// The rules of lint. Each returns a line with numbers of this walk if it applies.
namespace attn::lint_checks {

using Answer = std::optional<std::string>;

using Check = Answer(const Plan&, const Ledger&);

// Scale, softmax and scores.
Check softmax_axis, scale_dmodel, scale_missing, scale_number, saturated, no_gradient, exp_overflow,
    float16_scores, narrow_sums, rank_one;
// Tokens, masks and parameters.
Check hidden_rows, unmasked_padding, not_finite, huge_numbers, positive_init, no_position,
    vocabulary_gaps, blind_padding;
// Positions, sizes and layouts.
Check beyond_training, equal_positions, unseen_scaling, rotary_width, coincident_sizes,
    causal_lengths, no_output_projection, fused_by_head, three_heads, no_power;
// Windows, caps and biases; shared heads, sinks and caches.
Check window_not_causal, window_holds_all, t5_scale, t5_cross, cap_without_effect, equal_groups,
    sink_share, past_positions;

/// True if this key (or query, without a memory) is padding.
bool is_padding(const Plan& plan, std::size_t batch, std::size_t position);

/// The scores that softmax reads.
inline const Tensor& softmax_input(const Ledger& ledger) { return ledger.latest(Chain::scores); }

}  // namespace attn::lint_checks
