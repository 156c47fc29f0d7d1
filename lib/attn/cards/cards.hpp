#pragma once
#include "attn/plan/projected.hpp"
#include "attn/walk/step.hpp"

namespace attn {

// The step table is written in parts, one file for each group of steps, in the order of the walk.
StepTable input_cards();
StepTable norm_cards();
StepTable parameter_cards();
StepTable latent_cards();
StepTable projection_cards();
StepTable head_cards();
StepTable normed_cards();
StepTable angle_cards();
StepTable rotary_cards();
StepTable absorbed_cards();
StepTable cache_cards();
StepTable repeated_cards();
StepTable score_cards();
Step softcap_card();
StepTable slope_cards();
StepTable bias_cards();
StepTable mask_cards();
StepTable sink_cards();
StepTable softmax_cards();
StepTable block_cards();
StepTable difference_cards();
StepTable context_cards();
StepTable difference_context_cards();
StepTable expanded_cards();
StepTable merged_cards();

/// Where the tokens of x stand, or those of the memory.
Step positions_card(bool of_memory);

/// What is added to the tokens of x for their positions, and x as their sum, under the title of
/// `x`.
Step position_table_card();
Step position_embedding_card();
Step position_sum_card(const Step& x);
Tensor add_positions(const Plan& plan, const Ledger& ledger);

/// Two cards of one step: the first where `meant` says so, the second elsewhere. Title and kind are
/// those of the second.
Step either(bool (*meant)(const Plan&), const Step& first, const Step& second);

/// The axes and lengths of a tensor that is drawn or given: those of its row in the list of draws.
std::function<Outline(const Plan&)> drawn_outline(const std::string& name);

/// Makes key and value of the latents in walks that have some, where others project x.
void take_from_latents(StepTable& table);

/// The card with what other code calls its step.
inline Step called(Step card, std::string names) {
    card.called = std::move(names);
    return card;
}

/// The weight matrix (or the bias) of one projection: query, key, value, qkv or output.
Step parameter_card(const std::string& part, bool bias);

/// The lines that make the mask: each kind, and all of them together.
std::string mask_code(const StepLines& of);

/// What the sink takes, behind the weights.
Step sink_weight_card();

/// Attention block by block, for the card of the context.
Tensor blockwise_context(const Plan& plan, const Ledger& ledger);
std::string blockwise_context_rule(const PlannedStep& of);
std::string blockwise_context_note(const notes::Subject& subject);

/// True where attention keeps a score for each query and key.
inline bool keeps_scores(const Plan& plan) { return !plan.fused(); }

/// Whether the loop twins are asked for.
inline bool is_loop(const Plan& plan) { return plan.config.variant == Variant::loop; }

/// Of two twins the one that the plan asks for.
template <class Function>
Function twin(const Plan& plan, Function in_loops, Function in_arrays) {
    return is_loop(plan) ? in_loops : in_arrays;
}

/// A tensor with one row of features for each token of x.
inline Outline token_outline(const Plan& plan, std::size_t features) {
    return {plan.per_batch_axes("token", "feature"),
            plan.per_batch_shape(plan.query_len, features)};
}

/// A tensor with a cell for each query and key.
inline Outline score_outline(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

/// A formula that is the same for every plan.
inline std::function<std::string(const PlannedStep&)> always(std::string formula) {
    return [formula = std::move(formula)](const PlannedStep&) { return formula; };
}

/// What a step reads, whatever the plan.
inline std::function<std::vector<Input>(const Plan&)> these(std::vector<Input> inputs) {
    return [inputs = std::move(inputs)](const Plan&) { return inputs; };
}

}  // namespace attn
