#pragma once
#include <optional>
#include <string>

#include "attn/walk/walk.hpp"

/// What the rules of lint look for, each a line with the numbers of this walk where it is met.
namespace attn::lint_checks {

using Answer = std::optional<std::string>;

// Scale, softmax and what the scores look like.
Answer softmax_axis(const Plan& plan, const Ledger& ledger);
Answer scale_dmodel(const Plan& plan, const Ledger& ledger);
Answer scale_missing(const Plan& plan, const Ledger& ledger);
Answer scale_number(const Plan& plan, const Ledger& ledger);
Answer saturated(const Plan& plan, const Ledger& ledger);
Answer no_gradient(const Plan& plan, const Ledger& ledger);
Answer exp_overflow(const Plan& plan, const Ledger& ledger);
Answer rank_one(const Plan& plan, const Ledger& ledger);

// Tokens, masks and parameters.
Answer hidden_rows(const Plan& plan, const Ledger& ledger);
Answer unmasked_padding(const Plan& plan, const Ledger& ledger);
Answer not_finite(const Plan& plan, const Ledger& ledger);
Answer huge_numbers(const Plan& plan, const Ledger& ledger);
Answer positive_init(const Plan& plan, const Ledger& ledger);
Answer no_position(const Plan& plan, const Ledger& ledger);
Answer vocabulary_gaps(const Plan& plan, const Ledger& ledger);
Answer blind_padding(const Plan& plan, const Ledger& ledger);

// Positions.
Answer beyond_training(const Plan& plan, const Ledger& ledger);
Answer equal_positions(const Plan& plan, const Ledger& ledger);
Answer unseen_scaling(const Plan& plan, const Ledger& ledger);
Answer rotary_width(const Plan& plan, const Ledger& ledger);

// Windows, caps and biases.
Answer window_not_causal(const Plan& plan, const Ledger& ledger);
Answer window_holds_all(const Plan& plan, const Ledger& ledger);
Answer t5_scale(const Plan& plan, const Ledger& ledger);
Answer t5_cross(const Plan& plan, const Ledger& ledger);
Answer cap_without_effect(const Plan& plan, const Ledger& ledger);

// Sizes and layouts.
Answer coincident_sizes(const Plan& plan, const Ledger& ledger);
Answer causal_lengths(const Plan& plan, const Ledger& ledger);
Answer no_output_projection(const Plan& plan, const Ledger& ledger);
Answer fused_by_head(const Plan& plan, const Ledger& ledger);
Answer three_heads(const Plan& plan, const Ledger& ledger);
Answer no_power(const Plan& plan, const Ledger& ledger);

// Shared heads, sinks and caches.
Answer equal_groups(const Plan& plan, const Ledger& ledger);
Answer sink_share(const Plan& plan, const Ledger& ledger);
Answer past_positions(const Plan& plan, const Ledger& ledger);

/// True where this key (or query, without a memory) only fills up a shorter sequence.
bool is_padding(const Plan& plan, std::size_t batch, std::size_t position);

/// The scores as softmax takes them.
inline const Tensor& softmax_input(const Ledger& ledger) { return ledger.latest(Chain::scores); }

}  // namespace attn::lint_checks
