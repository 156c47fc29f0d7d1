#include <algorithm>

#include "attn/fused/fused_attention.hpp"
#include "attn/fused/fused_trace.hpp"
#include "attn/walk/hidden_keys.hpp"
#include "attn/walk/table_parts.hpp"

namespace attn {
namespace {

FusedOptions kernel_options(const Plan& plan, const FusedMask& mask) {
    FusedOptions options;
    options.scale = plan.scale.operation == ScaleFactor::Operation::divide ? 1 / plan.scale.number
                                                                           : plan.scale.number;
    options.mask = mask;
    options.empty_row =
        plan.config.empty_row == EmptyRow::zero ? FusedEmptyRow::zero : FusedEmptyRow::nan;
    options.threads = static_cast<std::size_t>(plan.config.threads);
    return options;
}

/// The numbers of one block that a step shows, from those of all.
using Pick = std::vector<double> FusedBlock::*;

/// Follows the blocks of every head and gathers, with the blocks side by side behind each query
/// or, for features, one matrix of queries and features after another.
template <class T>
Array<T> gathered(const Plan& plan, const Ledger& ledger, Pick pick, bool features) {
    const HiddenKeys hidden(plan);
    const std::size_t queries = plan.query_len;
    const std::size_t blocks = (plan.key_len + plan.key_block() - 1) / plan.key_block();
    const std::size_t width = features ? plan.value_dim : 1;
    Shape shape =
        features ? plan.per_head_shape(queries, width) : plan.per_head_shape(queries, blocks);
    if (features) shape.insert(shape.end() - 2, blocks);
    Array<T> result = empty_array<T>(shape);
    const FusedShape one{1, 1, queries, plan.key_len, plan.head_dim, plan.value_dim};
    for (std::size_t b = 0; b < plan.batch; ++b) {
        for (std::size_t h = 0; h < plan.heads; ++h) {
            const FusedOptions options = kernel_options(plan, hidden.mask_from(b, h, 0));
            const std::size_t group = b * plan.heads + h;
            const FusedTrace trace =
                fused_trace(ledger["query"].as<T>().data() + group * queries * plan.head_dim,
                            ledger["key"].as<T>().data() + group * plan.key_len * plan.head_dim,
                            ledger["value"].as<T>().data() + group * plan.key_len * plan.value_dim,
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

Tensor compute_partial_context(const Plan& plan, const Ledger& ledger) {
    Axes axes = plan.per_head_axes("query", "feature");
    axes.insert(axes.end() - 2, "block");
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        return {axes, gathered<T>(plan, ledger, &FusedBlock::context, true)};
    });
}

std::string running_max_formula(const Plan& plan) {
    return "running_max(q, b) = max(running_max(q, b-1), the scores of q in block b); blocks of " +
           std::to_string(plan.key_block()) + " keys";
}

}  // namespace

Tensor fused_context(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const HiddenKeys hidden(plan);
        Array<T> context = empty_array<T>(plan.per_head_shape(plan.query_len, plan.value_dim));
        fused_attention(ledger["query"].as<T>().data(), ledger["key"].as<T>().data(),
                        ledger["value"].as<T>().data(), context.data(), attention_shape(plan),
                        kernel_options(plan, hidden.mask()));
        return {plan.per_head_axes("query", "feature"), std::move(context)};
    });
}

StepTable fused_steps() {
    using Kind = Step::Kind;
    const auto traced = [](const Plan& plan) { return plan.traces_blocks(); };
    return {
        {"running_max", "the largest score that each query has met, block by block", Kind::computed,
         true, traced, running_max_formula, compute_running<&FusedBlock::maximum>},
        {"correction", "what a new maximum makes of everything gathered before", Kind::computed,
         true, traced, always("correction(q, b) = exp(running_max(q, b-1) - running_max(q, b))"),
         compute_running<&FusedBlock::correction>},
        {"running_sum", "the exponentials that each query has met, added up", Kind::computed, true,
         traced,
         always("running_sum(q, b) = correction * running_sum(q, b-1) + sum over block b of "
                "exp(score - running_max)"),
         compute_running<&FusedBlock::sum>},
        {"partial_context", "the values, mixed so far, not yet divided", Kind::computed, true,
         traced,
         always("partial_context(b, q) = correction * partial_context(b-1, q) + sum over block b "
                "of exp(score - running_max) * value"),
         compute_partial_context},
    };
}

}  // namespace attn
