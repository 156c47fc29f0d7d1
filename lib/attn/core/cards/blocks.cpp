#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/fused/fused_attention.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/ground/text/strings.hpp"

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

/// The sink's logits as the kernel takes them, whatever the walk's type.
std::vector<double> sink_logits(const Ledger& ledger) {
    std::vector<double> logits;
    const Tensor* sink = ledger.find("sink");
    for (std::size_t h = 0; sink != nullptr && h < sink->size(); ++h) logits.push_back(sink->at(h));
    return logits;
}

std::size_t block_count(const Plan& plan) {
    return (plan.key_len + plan.key_block() - 1) / plan.key_block();
}

/// The numbers of one block that a step shows, from those of all.
using Pick = std::vector<double> FusedBlock::*;

/// Follows the blocks of every head and gathers, with the blocks side by side after each query
/// or, for features, one matrix of queries and features after another.
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
                one, options, queries, plan.key_block(), bias.view().from(group, 0));
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
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
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
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
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

/// The index of the head where a rule has to name it, the keys up to the end of block `j`.
std::optional<std::string> block_word(std::string_view word, const PlannedStep& of) {
    if (word == "h") return of.plan.has_head ? "h," : "";
    if (word == "sink") return sink_cell(of.plan);
    if (word == "last") return std::to_string(block_count(of.plan) - 1);
    if (word != "keys") return std::nullopt;
    return "0..min((j + 1) * " + std::to_string(of.plan.key_block()) + ", Tk)";
}

bool zeroes_rows(const Plan& plan) { return plan.config.empty_row == EmptyRow::zero; }
bool traces_no_blocks(const Plan& plan) { return !plan.traces_blocks(); }
bool gathers_sink(const PlannedStep& of) { return of.has("sink"); }

}  // namespace

std::string blockwise_context_rule(const PlannedStep& of) {
    static const auto rule =
        texts({{traces_no_blocks, "context[q,f] = sum k: weights[q,k] * values[k,f]"},
               {zeroes_rows,
                "context[{h}q,f] = if running_max[{h}q,{last}] == -inf then 0 else "
                "partial_context[{h}{last},q,f] / running_sum[{h}q,{last}]"},
               {"context[{h}q,f] = partial_context[{h}{last},q,f] / running_sum[{h}q,{last}]"}},
              block_word);
    return rule(of);
}

Tensor blockwise_context(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Visibility visibility(plan);
        // A mask that was given, or replaced by a mistake, is what counts.
        const Tensor* const mask = ledger.find("mask");
        const ScoreBias<T> bias(plan, ledger);
        const std::vector<double> sink = sink_logits(ledger);
        Array<T> context = empty_array<T>(plan.per_head_shape(plan.query_len, plan.value_dim));
        fused_attention(
            ledger.latest(Chain::queries).as<T>().data(), ledger.latest(Chain::keys).as<T>().data(),
            ledger.latest(Chain::values).as<T>().data(), context.data(), attention_shape(plan),
            kernel_options(plan, mask ? view_of(mask->as<bool>(), plan) : visibility.view(), sink),
            bias.view());
        return {plan.per_head_axes("query", "feature"), std::move(context)};
    });
}

StepTable block_cards() {
    Step running_max =
        running_card("running_max", "the largest score that each query has met, block by block",
                     compute_running<&FusedBlock::maximum>);
    running_max.rule = texts(
        {{gathers_sink, "running_max[{h}q,j] = max((max k in {keys}: scores[{h}q,k]), {sink})"},
         {"running_max[{h}q,j] = max k in {keys}: scores[{h}q,k]"}},
        block_word);
    Step correction = running_card("correction", "the factor that rescales running sum and context",
                                   compute_running<&FusedBlock::correction>);
    correction.rule = texts(
        {{gathers_sink,
          "correction[{h}q,j] = if j == 0 then exp({sink} - running_max[{h}q,0]) else if "
          "running_max[{h}q,j - 1] == -inf then 0 else exp(running_max[{h}q,j - 1] - "
          "running_max[{h}q,j])"},
         {"correction[{h}q,j] = if j == 0 then 0 else if running_max[{h}q,j - 1] == -inf then 0 "
          "else exp(running_max[{h}q,j - 1] - running_max[{h}q,j])"}},
        block_word);
    Step running_sum =
        running_card("running_sum", "the exponentials that each query has met, added up",
                     compute_running<&FusedBlock::sum>);
    running_sum.rule = texts(
        {{gathers_sink,
          "running_sum[{h}q,j] = (sum k in {keys}: exp(scores[{h}q,k] - running_max[{h}q,j])) + "
          "exp({sink} - running_max[{h}q,j])"},
         {"running_sum[{h}q,j] = if running_max[{h}q,j] == -inf then 0 else sum k in {keys}: "
          "exp(scores[{h}q,k] - running_max[{h}q,j])"}},
        block_word);
    Step partial_context = running_card(
        "partial_context", "the values, mixed so far, not yet divided", compute_partial_context);
    partial_context.outline = partial_context_outline;
    partial_context.rule =
        texts({"partial_context[{h}j,q,f] = if running_max[{h}q,j] == -inf then 0 else sum k in "
               "{keys}: exp(scores[{h}q,k] - running_max[{h}q,j]) * values[{h}k,f]"},
              block_word);
    return {running_max, correction, running_sum, partial_context};
}

}  // namespace attn
