#include <algorithm>

#include "attn/core/cards/cards.hpp"
#include "attn/core/fused/fused_attention.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/visibility.hpp"

namespace attn {
namespace {

FusedOptions kernel_options(const Plan& plan, const MaskView& mask, std::span<const double> sink) {
    FusedOptions options;
    options.sink = sink;
    options.scale = plan.scale.operation == ScaleFactor::Operation::divide ? 1 / plan.scale.number
                                                                           : plan.scale.number;
    options.softcap = plan.config.softcap;
    options.mask = mask;
    options.empty_row = plan.config.empty_row;
    options.threads = plan.arithmetic.threads;
    return options;
}

/// Returns the sink's logits as double, as the kernel expects them.
std::vector<double> sink_logits(const Ledger& ledger) {
    std::vector<double> logits;
    const Tensor* sink = ledger.find("sink");
    for (std::size_t h = 0; sink != nullptr && h < sink->size(); ++h) logits.push_back(sink->at(h));
    return logits;
}

/// Returns the dropout mask of the weights; null if there is none.
template <class T>
const T* kept_cells(const Plan& plan, const Ledger& ledger) {
    return plan.drops(Dropout::Place::weights) ? ledger["keep"].as<T>().data() : nullptr;
}

/// The numbers of a block that a step shows.
using Pick = std::vector<double> FusedBlock::*;

/// Computes the blocks of every head and collects their numbers: with the blocks as a last axis
/// after the queries or, for features, as one (query, feature) matrix per block.
template <class T>
Array<T> gathered(const Plan& plan, const Ledger& ledger, Pick pick, bool features) {
    const Visibility visibility(plan);
    const ScoreBias<T> bias(plan, ledger);
    const std::vector<double> logits = sink_logits(ledger);
    const std::span<const double> sink = logits;
    const std::size_t queries = plan.query_len;
    const std::size_t blocks = block_count(plan);
    const std::size_t width = features ? plan.value_dim : 1;
    Shape shape =
        features ? plan.per_head_shape(queries, width) : plan.per_head_shape(queries, blocks);
    if (features) shape.insert(shape.end() - 2, blocks);
    const T* const keep = kept_cells<T>(plan, ledger);
    Array<T> result = empty_array<T>(shape);
    const AttentionShape one{1, 1, queries, plan.key_len, plan.head_dim, plan.value_dim};
    for (std::size_t b = 0; b < plan.batch; ++b) {
        for (std::size_t h = 0; h < plan.heads; ++h) {
            const FusedOptions options =
                kernel_options(plan, visibility.view().from(b * plan.heads + h, 0),
                               sink.empty() ? sink : sink.subspan(h, 1));
            const std::size_t group = b * plan.heads + h;
            const std::size_t kv_group = attention_shape(plan).kv_group(group);
            const FusedTrace trace = fused_trace(
                ledger.latest(Chain::queries).as<T>().data() + group * queries * plan.head_dim,
                ledger.latest(Chain::keys).as<T>().data() + kv_group * plan.key_len * plan.head_dim,
                ledger.latest(Chain::values).as<T>().data() +
                    kv_group * plan.key_len * plan.value_dim,
                one, options, queries, plan.key_block(), bias.view().from(group, 0),
                keep ? keep + group * queries * plan.key_len : keep);
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

}  // namespace

std::size_t block_count(const Plan& plan) {
    return (plan.key_len + plan.key_block() - 1) / plan.key_block();
}

Step::Compute running_number(Pick number) {
    return [number](const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            return {plan.per_head_axes("query", "block"), gathered<T>(plan, ledger, number, false)};
        });
    };
}

Tensor partial_context(const Plan& plan, const Ledger& ledger) {
    Axes axes = plan.per_head_axes("query", "feature");
    axes.insert(axes.end() - 2, "block");
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        return {axes, gathered<T>(plan, ledger, &FusedBlock::context, true)};
    });
}

Tensor blockwise_context(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Visibility visibility(plan);
        // Use the ledger's mask, which may be given or changed by a mistake.
        const Tensor* const mask = ledger.find("mask");
        const ScoreBias<T> bias(plan, ledger);
        const std::vector<double> sink = sink_logits(ledger);
        Array<T> context = empty_array<T>(plan.per_head_shape(plan.query_len, plan.value_dim));
        fused_attention(
            ledger.latest(Chain::queries).as<T>().data(), ledger.latest(Chain::keys).as<T>().data(),
            ledger.latest(Chain::values).as<T>().data(), context.data(), attention_shape(plan),
            kernel_options(plan, mask ? view_of(mask->as<bool>(), plan) : visibility.view(), sink),
            bias.view(), kept_cells<T>(plan, ledger));
        if (plan.drops(Dropout::Place::weights)) {
            const T share = static_cast<T>(plan.config.dropout.share());
            for (T& number : context) number /= share;
        }
        return {plan.per_head_axes("query", "feature"), std::move(context)};
    });
}

}  // namespace attn
