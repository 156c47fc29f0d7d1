#pragma once
#include <bit>
#include <span>
#include <string>

#include "attn/core/cards/texts.hpp"
#include "attn/core/fused/fused_attention.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/steps/sink.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

// The words in braces in inputs.attn and rope.attn.

std::optional<std::string> input_word(std::string_view word, const PlannedStep& of);
std::optional<std::string> rope_word(std::string_view word, const PlannedStep& of);
/// Returns the numbers of a frequency scaling, and `1 / theta ^ (2 * i / R)`.
std::optional<std::string> frequency_word(std::string_view word, const PlannedStep& of);

/// Returns the axes and lengths of a drawn or given tensor, from its row in the draw list.
std::function<Outline(const Plan&)> drawn_outline(const std::string& name);

/// Returns the card of a parameter in the draw list.
Step drawn_card(std::string name, std::string title, std::function<bool(const Plan&)> applies);

// Blockwise attention.

std::size_t block_count(const Plan& plan);
/// Return the context, the partial context after each block, and a number per query after each
/// block.
Tensor blockwise_context(const Plan& plan, const Ledger& ledger);
Tensor partial_context(const Plan& plan, const Ledger& ledger);
Step::Compute running_number(std::vector<double> FusedBlock::*number);

/// The names of the steps on the positions of x's tokens, or the memory's.
struct Standing {
    bool of_memory;

    std::string name(const std::string& step) const { return of_memory ? "memory_" + step : step; }
    const std::vector<std::int64_t>& positions(const Plan& plan) const {
        return of_memory ? plan.config.memory_positions : plan.config.positions;
    }
};

/// Returns the tensor of a step's input.
inline const Tensor& tensor_of(const Input& input, const Ledger& ledger, const std::string& step) {
    return input.chain == Chain::none ? ledger[input.step] : ledger.latest(input.chain, step);
}

/// The eps of norms: of latents, and of the context.
inline constexpr double latent_norm_eps = 1e-6, context_norm_eps = 1e-5;

// Biases of scores by the distance between query and key.

/// Returns the number of heads with consecutive powers of two as slopes; the others use every
/// second power of the next series.
inline std::size_t regular_heads(const Plan& plan) { return std::bit_floor(plan.heads); }

/// Returns the numbers and conditions in the rules of slopes and buckets.
std::optional<std::string> bucket_word(std::string_view word, const PlannedStep& of);

Outline position_bias_outline(const Plan& plan);
Tensor compute_buckets(const Plan& plan, const Ledger& ledger);
Tensor compute_position_bias(const Plan& plan, const Ledger& ledger);
Tensor compute_biased_scores(const Plan& plan, const Ledger& ledger);

/// Selects the loop or the vectorized function by the plan's variant.
template <class Function>
Function twin(const Plan& plan, Function in_loops, Function in_arrays) {
    return plan.config.variant == Variant::loop ? in_loops : in_arrays;
}

/// The inputs of a loop: those of its card, in the order of `reads`, in the dtype of the walk.
template <class T>
struct LoopInputs {
    const Plan& plan;
    const Ledger& ledger;
    const std::string& step;
    const std::vector<Input>& reads;

    /// Errors  ConfigError if the step has fewer inputs, or the walk lacks one.
    const Tensor& tensor(std::size_t place) const {
        if (place < reads.size()) return tensor_of(reads[place], ledger, step);
        throw ConfigError("its loop reads more than its rule: leave the loop of " + step + " out");
    }
    const Array<T>& operator[](std::size_t place) const { return tensor(place).template as<T>(); }
    const Array<bool>& truths(std::size_t place) const { return tensor(place).template as<bool>(); }
    const Array<std::int64_t>& whole(std::size_t place) const {
        return tensor(place).template as<std::int64_t>();
    }
    /// True if the walk has an input that is read by name.
    bool has(std::size_t place) const {
        return place < reads.size() && ledger.has(reads[place].step);
    }
    /// Returns an optional parameter; an empty array if the walk lacks it.
    Array<T> or_none(std::size_t place) const {
        return has(place) ? (*this)[place] : empty_array<T>({0});
    }
    /// Returns numbers with the axes of the first input, which an earlier mistake may have changed.
    Tensor like_first(Array<T> numbers) const { return {tensor(0).axes(), std::move(numbers)}; }
    template <class Function>
    Function twin(Function in_loops, Function in_arrays) const {
        return attn::twin(plan, in_loops, in_arrays);
    }
};

/// Returns the computation of a card with a loop: `make` returns the numbers, with the axes of the
/// outline, or a tensor with its own axes.
template <class Make>
Step::Compute in_loops(const Step& card, Make make) {
    return [name = card.name, reads = card.reads, outline = card.outline, make](
               const Plan& plan, const Ledger& ledger) -> Tensor {
        const std::vector<Input> inputs = reads(plan);
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            auto result = make(LoopInputs<T>{plan, ledger, name, inputs});
            if constexpr (std::is_same_v<decltype(result), Tensor>) {
                return result;
            } else {
                return {outline(plan).axes, std::move(result)};
            }
        });
    };
}

/// Returns the outline of a tensor with one cell per query and key.
inline Outline score_outline(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

/// True for all plans.
inline bool always_true(const Plan&) { return true; }

// The layout of latent attention: key and value alternate by head in w_key_value.

/// Returns the number of query or key features that are not rotated.
inline std::size_t still_dim(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }
/// Returns the number of key and value features of one head, side by side.
inline std::size_t pair_width(const Plan& plan) { return still_dim(plan) + plan.value_dim; }

// Functions for the cards of softmax, about the sink.

/// Returns the logits of the sink, one per head; empty without a sink.
template <class T>
std::span<const T> sink_of(const LoopInputs<T>& in) {
    if (!in.ledger.has("sink")) return {};
    const Array<T>& logits = in.ledger["sink"].template as<T>();
    return {logits.data(), logits.size()};
}

/// Returns the sink's cell in a rule.
std::string sink_cell(const Plan& plan);

/// Returns query, key or value for `query` and `projected_query`; null for other steps.
const Projected* part_of(std::string_view step);

/// Returns the formula of a parameter: its origin.
std::string learned(const PlannedStep& of);

/// Adds a remark for each step in a rule that is not the latest of its chain: `scores` in a rule
/// means the latest.
void add_chain_remarks(const Rule& displayed, const PlannedStep& of,
                       std::vector<std::string>& remarks);

}  // namespace attn
