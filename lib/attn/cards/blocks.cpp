#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/fused/fused_attention.hpp"
#include "attn/fused/fused_trace.hpp"
#include "attn/walk/hidden_keys.hpp"

namespace attn {
namespace {

FusedOptions kernel_options(const Plan& plan, const MaskView& mask) {
    FusedOptions options;
    options.scale = plan.scale.operation == ScaleFactor::Operation::divide ? 1 / plan.scale.number
                                                                           : plan.scale.number;
    options.mask = mask;
    options.empty_row = plan.config.empty_row;
    options.threads = static_cast<std::size_t>(plan.config.threads);
    return options;
}

std::size_t block_count(const Plan& plan) {
    return (plan.key_len + plan.key_block() - 1) / plan.key_block();
}

/// The numbers of one block that a step shows, from those of all.
using Pick = std::vector<double> FusedBlock::*;

/// Follows the blocks of every head and gathers, with the blocks side by side behind each query
/// or, for features, one matrix of queries and features after another.
template <class T>
Array<T> gathered(const Plan& plan, const Ledger& ledger, Pick pick, bool features) {
    const HiddenKeys hidden(plan);
    const std::size_t queries = plan.query_len;
    const std::size_t blocks = block_count(plan);
    const std::size_t width = features ? plan.value_dim : 1;
    Shape shape =
        features ? plan.per_head_shape(queries, width) : plan.per_head_shape(queries, blocks);
    if (features) shape.insert(shape.end() - 2, blocks);
    Array<T> result = empty_array<T>(shape);
    const AttentionShape one{1, 1, queries, plan.key_len, plan.head_dim, plan.value_dim};
    for (std::size_t b = 0; b < plan.batch; ++b) {
        for (std::size_t h = 0; h < plan.heads; ++h) {
            const FusedOptions options = kernel_options(plan, hidden.mask_from(b, h, 0));
            const std::size_t group = b * plan.heads + h;
            const FusedTrace trace = fused_trace(
                ledger.latest(Chain::queries).as<T>().data() + group * queries * plan.head_dim,
                ledger.latest(Chain::keys).as<T>().data() + group * plan.key_len * plan.head_dim,
                ledger.latest(Chain::values).as<T>().data() + group * plan.key_len * plan.value_dim,
                one, options, queries, plan.key_block());
            T* cells = result.data() + group * blocks * queries * width;
            for (std::size_t k = 0; k < blocks; ++k) {
                const std::vector<double>& numbers = trace.blocks[k].*pick;
                for (std::size_t q = 0; q < queries * width; ++q) {
                    cells[features ? k * queries * width + q : q * blocks + k] =
                        static_cast<T>(numbers[q]);
                }
            }
        }
    }
    return result;
}

/// The step of one number for each query and block.
template <Pick pick>
Tensor compute_running(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        return {plan.per_head_axes("query", "block"), gathered<T>(plan, ledger, pick, false)};
    });
}

Outline partial_context_outline(const Plan& plan) {
    Outline outline{plan.per_head_axes("query", "feature"),
                    plan.per_head_shape(plan.query_len, plan.value_dim)};
    outline.axes.insert(outline.axes.end() - 2, "block");
    outline.shape.insert(outline.shape.end() - 2, block_count(plan));
    return outline;
}

Tensor compute_partial_context(const Plan& plan, const Ledger& ledger) {
    const Axes axes = partial_context_outline(plan).axes;
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        return {axes, gathered<T>(plan, ledger, &FusedBlock::context, true)};
    });
}

/// A card of one number for each query and block.
Step running_card(std::string name, std::string title, Step::Compute compute) {
    return {
        .name = std::move(name),
        .title = std::move(title),
        .applies = [](const Plan& plan) { return plan.traces_blocks(); },
        .reads = these({Chain::queries, Chain::keys, Chain::values}),
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_head_axes("query", "block"),
                               plan.per_head_shape(plan.query_len, block_count(plan))};
            },
        .compute = std::move(compute),
    };
}

}  // namespace

Tensor blockwise_context(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const HiddenKeys hidden(plan);
        Array<T> context = empty_array<T>(plan.per_head_shape(plan.query_len, plan.value_dim));
        fused_attention(ledger.latest(Chain::queries).as<T>().data(),
                        ledger.latest(Chain::keys).as<T>().data(),
                        ledger.latest(Chain::values).as<T>().data(), context.data(),
                        attention_shape(plan), kernel_options(plan, hidden.mask()));
        return {plan.per_head_axes("query", "feature"), std::move(context)};
    });
}

StepTable block_cards() {
    Step running_max =
        running_card("running_max", "the largest score that each query has met, block by block",
                     compute_running<&FusedBlock::maximum>);
    running_max.formula = [](const PlannedStep& of) {
        return "running_max(q, b) = max(running_max(q, b-1), the scores of q in block b); blocks "
               "of " +
               std::to_string(of.plan.key_block()) + " keys";
    };
    Step correction =
        running_card("correction", "what a new maximum makes of everything gathered before",
                     compute_running<&FusedBlock::correction>);
    correction.formula = always("correction(q, b) = exp(running_max(q, b-1) - running_max(q, b))");
    Step running_sum =
        running_card("running_sum", "the exponentials that each query has met, added up",
                     compute_running<&FusedBlock::sum>);
    running_sum.formula = always(
        "running_sum(q, b) = correction * running_sum(q, b-1) + sum over block b of "
        "exp(score - running_max)");
    Step partial_context = running_card(
        "partial_context", "the values, mixed so far, not yet divided", compute_partial_context);
    partial_context.outline = partial_context_outline;
    partial_context.formula = always(
        "partial_context(b, q) = correction * partial_context(b-1, q) + sum over block b of "
        "exp(score - running_max) * value");
    return {running_max, correction, running_sum, partial_context};
}

}  // namespace attn
