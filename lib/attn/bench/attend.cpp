#include "attn/bench/attend.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "attn/cards/step_table.hpp"
#include "attn/fused/fused_attention.hpp"
#include "attn/random/generator.hpp"
#include "attn/simd/kernels.hpp"
#include "attn/steps/context.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/walk/row_blocks.hpp"
#include "attn/walk/words.hpp"

namespace attn {
namespace {

ScaleFactor scale_of(const BenchShape& shape) {
    return {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(shape.head_dim))};
}

MaskView mask_of(const BenchInput& input) {
    MaskView mask;
    mask.causal = input.causal;
    mask.window = input.window > 0;
    mask.window_offset = 1 - static_cast<std::ptrdiff_t>(input.window);
    return mask;
}

// Every step's tensor has a name, so that it lives until the context is done.
Array<float> attend_by_loops(const BenchInput& input) {
    const Arithmetic arithmetic;
    const BenchShape shape = input.shape();
    const Array<float> key = loop::repeat_heads(input.key, shape.queries_per_key);
    const Array<float> value = loop::repeat_heads(input.value, shape.queries_per_key);
    const Array<float> scores = loop::scores(input.query, key, arithmetic);
    const Array<float> scaled_scores = loop::scale(scores, scale_of(shape));
    const MaskView view = mask_of(input);
    if (!view.causal && !view.window) {
        const Array<float> weights = loop::softmax(scaled_scores, 2);
        return loop::context(weights, value, arithmetic);
    }
    Array<bool> mask = empty_array<bool>({shape.length, shape.length});
    for (std::size_t q = 0; q < shape.length; ++q) {
        for (std::size_t k = 0; k < shape.length; ++k) mask(q, k) = view.hides(0, q, k);
    }
    const Array<float> masked_scores = loop::apply_mask(scaled_scores, mask);
    const Array<float> weights = loop::softmax(masked_scores, 2);
    return loop::context(weights, value, arithmetic);
}

/// The walk's own way over blocks of rows, with the scores and the weights kept whole.
void attend_vectorized(const BenchInput& input, std::size_t threads, BenchOutput& output) {
    Plan plan = input.plan;
    plan.config.mask.causal = input.causal;
    if (input.window > 0) plan.config.mask.window = static_cast<std::int64_t>(input.window);
    plan.config.threads = static_cast<int>(threads);
    const auto is_kept = [](const Step& step) {
        return step.name == "scores" || step.name == "weights" || step.name == "context";
    };
    const StepTable& table = step_table();
    const auto scores = std::find_if(table.begin(), table.end(),
                                     [](const Step& step) { return step.name == "scores"; });
    const RowSteps steps =
        row_steps_from(plan, {}, table, static_cast<std::size_t>(scores - table.begin()), is_kept);
    const std::size_t times = input.shape().queries_per_key;
    Array<float> repeated_key, repeated_value;
    if (times > 1) {
        repeated_key = vectorized::repeat_heads(input.key, times);
        repeated_value = vectorized::repeat_heads(input.value, times);
    }
    RowSources<float> sources{matrices_of(input.query),
                              matrices_of(times > 1 ? repeated_key : input.key),
                              matrices_of(times > 1 ? repeated_value : input.value),
                              {},
                              {}};
    sources.mask = mask_of(input);
    sources.mask.heads = plan.heads;
    output.kept[2] = std::move(output.context);
    evaluate_row_blocks(plan, sources, steps, all_rows(plan), output.kept);
    output.context = std::move(output.kept[2]);
}

void attend_fused(const BenchInput& input, const BenchSeries& series, BenchOutput& output) {
    const BenchShape shape = input.shape();
    FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
    options.mask = mask_of(input);
    options.threads = series.threads;
    options.instruction_set = series.instruction_set;
    fused_attention(input.query.data(), input.key.data(), input.value.data(), output.context.data(),
                    {1, shape.groups, shape.length, shape.length, shape.head_dim, shape.head_dim,
                     shape.kv_groups()},
                    options);
}

}  // namespace

std::string series_name(const BenchSeries& series) {
    std::string name(word(series.variant));
    if (series.variant == Variant::fused) {
        name += " " + std::string(instruction_set_name(series.instruction_set));
    }
    return series.threads > 1 ? name + " x" + std::to_string(series.threads) : name;
}

std::string bench_shape_text(const BenchShape& shape) {
    const std::string shared =
        shape.queries_per_key > 1 ? "/" + std::to_string(shape.kv_groups()) : "";
    return "(" + std::to_string(shape.groups) + shared + "," + std::to_string(shape.length) + "," +
           std::to_string(shape.head_dim) + ")";
}

BenchInput draw_bench_input(const BenchShape& shape, bool causal, std::size_t window) {
    const std::unique_ptr<Generator> generator = make_generator(Rng::torch, 42);
    const auto draw = [&](std::size_t groups) {
        Array<float> drawn = empty_array<float>({groups, shape.length, shape.head_dim});
        generator->randn(std::span<float>(drawn.data(), drawn.size()));
        return drawn;
    };
    Array<float> query = draw(shape.groups);
    Array<float> key = draw(shape.kv_groups());
    Array<float> value = draw(shape.kv_groups());
    WalkConfig config;
    config.projection = Projection::none;
    config.heads = static_cast<std::int64_t>(shape.groups);
    config.head_dim = static_cast<std::int64_t>(shape.head_dim);
    config.query_len = static_cast<std::int64_t>(shape.length);
    Plan plan = resolve(config);
    plan.has_head = true;  // one group is an axis too
    return {std::move(query), std::move(key), std::move(value), causal, window, std::move(plan)};
}

BenchOutput output_for(const BenchSeries& series, const BenchShape& shape) {
    BenchOutput output;
    const auto take = [](Array<float>& array, const Shape& sizes) {
        array = empty_array<float>(sizes);
        array.fill(0);
    };
    if (series.variant == Variant::vectorized) {
        output.kept.resize(3);
        for (Array<float>& square : {std::ref(output.kept[0]), std::ref(output.kept[1])}) {
            take(square, {shape.groups, shape.length, shape.length});
        }
    }
    if (series.variant != Variant::loop) {
        take(output.context, {shape.groups, shape.length, shape.head_dim});
    }
    return output;
}

void attend(const BenchSeries& series, const BenchInput& input, BenchOutput& output) {
    switch (series.variant) {
        case Variant::loop:
            output.context = attend_by_loops(input);
            break;
        case Variant::vectorized:
            attend_vectorized(input, series.threads, output);
            break;
        default:
            attend_fused(input, series, output);
    }
}

double held_bytes(const BenchSeries& series, const BenchShape& shape, bool causal) {
    const auto groups = static_cast<double>(shape.groups);
    const auto length = static_cast<double>(shape.length);
    const double context = groups * length * static_cast<double>(shape.head_dim) * sizeof(float);
    if (series.variant == Variant::fused) {
        const simd::Kernels& kernels = simd::kernels_for(series.instruction_set);
        const std::size_t scratch =
            kernels.float32.blocks.scratch_size(shape.head_dim, shape.head_dim);
        return context + static_cast<double>(series.threads * scratch * sizeof(float));
    }
    const double repeated = shape.queries_per_key > 1 ? 2 * context : 0;
    const double cells = length * length;
    if (series.variant == Variant::vectorized) {
        return 2 * groups * cells * sizeof(float) + context + repeated;
    }
    const double kept = causal ? 4 : 3;  // scores, scaled_scores, weights; masked_scores
    return kept * groups * cells * sizeof(float) + (causal ? cells * sizeof(bool) : 0) + context +
           repeated;
}

double useful_operations(const BenchShape& shape, bool causal, std::size_t window) {
    double cells = 0;
    for (std::size_t q = 0; q < shape.length; ++q) {
        const std::size_t first = window > 0 && q >= window ? q + 1 - window : 0;
        cells += static_cast<double>((causal ? q + 1 : shape.length) - first);
    }
    return 4.0 * static_cast<double>(shape.groups) * static_cast<double>(shape.head_dim) * cells;
}

}  // namespace attn
