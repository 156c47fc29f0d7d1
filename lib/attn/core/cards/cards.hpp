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

// The words in braces of inputs.attn and rope.attn.

std::optional<std::string> input_word(std::string_view word, const PlannedStep& of);
std::optional<std::string> rope_word(std::string_view word, const PlannedStep& of);
/// Returns the numbers of a stretching of frequencies, and `1 / theta ^ (2 * i / R)`.
std::optional<std::string> frequency_word(std::string_view word, const PlannedStep& of);

/// The axes and lengths of a tensor that is drawn or given: those of its row in the list of draws.
std::function<Outline(const Plan&)> drawn_outline(const std::string& name);

/// A parameter that the list of draws has a row for.
Step drawn_card(std::string name, std::string title, std::function<bool(const Plan&)> applies);

// Attention block by block.

std::size_t block_count(const Plan& plan);
/// The context, the values mixed after each block, and one number of each query after each block.
Tensor blockwise_context(const Plan& plan, const Ledger& ledger);
Tensor partial_context(const Plan& plan, const Ledger& ledger);
Step::Compute running_number(std::vector<double> FusedBlock::*number);

/// The tokens of x, or those of the memory, and the names of the steps on their positions.
struct Standing {
    bool of_memory;

    std::string name(const std::string& step) const { return of_memory ? "memory_" + step : step; }
    const std::vector<std::int64_t>& positions(const Plan& plan) const {
        return of_memory ? plan.config.memory_positions : plan.config.positions;
    }
};

/// The tensor that an input of a step stands for.
inline const Tensor& tensor_of(const Input& input, const Ledger& ledger, const std::string& step) {
    return input.chain == Chain::none ? ledger[input.step] : ledger.latest(input.chain, step);
}

/// What keeps the roots in norms from 0: of latents, and of the context.
inline constexpr double latent_norm_eps = 1e-6, context_norm_eps = 1e-5;

// Numbers that are added to scores for the distance of query and key.

/// The heads that take every slope of a power of two; the others take every second of the next.
inline std::size_t regular_heads(const Plan& plan) { return std::bit_floor(plan.heads); }

/// The numbers and conditions in the rules of slopes and buckets.
std::optional<std::string> bucket_word(std::string_view word, const PlannedStep& of);

Outline position_bias_outline(const Plan& plan);
Tensor compute_buckets(const Plan& plan, const Ledger& ledger);
Tensor compute_position_bias(const Plan& plan, const Ledger& ledger);
Tensor compute_biased_scores(const Plan& plan, const Ledger& ledger);

/// Of two twins the one that the plan asks for.
template <class Function>
Function twin(const Plan& plan, Function in_loops, Function in_arrays) {
    return plan.config.variant == Variant::loop ? in_loops : in_arrays;
}

/// What a loop takes: the inputs of its card, in the order of `reads`, in the type of the walk.
template <class T>
struct LoopInputs {
    const Plan& plan;
    const Ledger& ledger;
    const std::string& step;
    const std::vector<Input>& reads;

    /// Errors  ConfigError if the step reads less, or the walk has none.
    const Tensor& tensor(std::size_t place) const {
        if (place < reads.size()) return tensor_of(reads[place], ledger, step);
        throw ConfigError("its loop reads more than its rule: leave the loop of " + step + " out");
    }
    const Array<T>& operator[](std::size_t place) const { return tensor(place).template as<T>(); }
    const Array<bool>& truths(std::size_t place) const { return tensor(place).template as<bool>(); }
    const Array<std::int64_t>& whole(std::size_t place) const {
        return tensor(place).template as<std::int64_t>();
    }
    /// Whether the walk has what is read by its name.
    bool has(std::size_t place) const {
        return place < reads.size() && ledger.has(reads[place].step);
    }
    /// A parameter that may be absent: empty then.
    Array<T> or_none(std::size_t place) const {
        return has(place) ? (*this)[place] : empty_array<T>({0});
    }
    /// Numbers with the axes of what is read first, which a mistake before it may have changed.
    Tensor like_first(Array<T> numbers) const { return {tensor(0).axes(), std::move(numbers)}; }
    template <class Function>
    Function twin(Function in_loops, Function in_arrays) const {
        return attn::twin(plan, in_loops, in_arrays);
    }
};

/// What a card computes by a loop: `make` gives the numbers of what is read, and the outline their
/// axes, or a tensor with axes of its own.
template <class Make>
Step::Compute in_loops(const Step& card, Make make) {
    return [name = card.name, reads = card.reads, outline = card.outline, make](
               const Plan& plan, const Ledger& ledger) -> Tensor {
        const std::vector<Input> inputs = reads(plan);
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            auto made = make(LoopInputs<T>{plan, ledger, name, inputs});
            if constexpr (std::is_same_v<decltype(made), Tensor>) {
                return made;
            } else {
                return {outline(plan).axes, std::move(made)};
            }
        });
    };
}

/// A tensor with a cell for each query and key.
inline Outline score_outline(const Plan& plan) {
    return {plan.per_head_axes("query", "key"), plan.per_head_shape(plan.query_len, plan.key_len)};
}

/// Of every plan.
inline bool always_so(const Plan&) { return true; }

// Where the latents of latent attention go: key and value lie head by head in w_key_value.

/// Features of a query or key that do not rotate.
inline std::size_t still_dim(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }
/// Features of key and value of one head side by side.
inline std::size_t pair_width(const Plan& plan) { return still_dim(plan) + plan.value_dim; }

// Questions of the cards of softmax about the sink.

/// The logits of the sink, one for each head; empty without one.
template <class T>
std::span<const T> sink_of(const LoopInputs<T>& in) {
    if (!in.ledger.has("sink")) return {};
    const Array<T>& logits = in.ledger["sink"].template as<T>();
    return {logits.data(), logits.size()};
}

/// Its cell in a rule.
std::string sink_cell(const Plan& plan);

/// Query, key or value, of `query` and `projected_query`; null for the name of another step.
const Projected* part_of(std::string_view step);

/// The formula of a parameter: where it comes from.
std::string learned(const PlannedStep& of);

/// Adds a remark for each step that the rule names and that its chain has gone on from: `scores` in
/// the rule is the latest of the chain.
void add_chain_remarks(const Rule& told, const PlannedStep& of, std::vector<std::string>& remarks);

}  // namespace attn
