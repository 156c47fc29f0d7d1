#include "attn/bench/attend.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "attn/fused/fused_attention.hpp"
#include "attn/random/generator.hpp"
#include "attn/simd/kernels.hpp"
#include "attn/steps/context.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/steps/stepped_attention.hpp"
#include "attn/walk/words.hpp"

namespace attn {
namespace {

ScaleFactor scale_of(const BenchShape& shape) {
    return {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(shape.head_dim))};
}

// Every step's tensor has a name, so that it lives until the context is done.
Array<float> attend_by_loops(const BenchInput& input) {
    const Arithmetic arithmetic;
    const BenchShape shape = input.shape();
    const Array<float> scores = loop::scores(input.query, input.key, arithmetic);
    const Array<float> scaled_scores = loop::scale(scores, scale_of(shape));
    if (!input.causal) {
        const Array<float> weights = loop::softmax(scaled_scores, 2);
        return loop::context(weights, input.value, arithmetic);
    }
    const Array<bool> mask = causal_mask(shape.length, shape.length, CausalAlign::start);
    const Array<float> masked_scores = loop::apply_mask(scaled_scores, mask);
    const Array<float> weights = loop::softmax(masked_scores, 2);
    return loop::context(weights, input.value, arithmetic);
}

/// The walk's own way over windows of rows, with the scores and the weights kept whole.
void attend_vectorized(const BenchInput& input, std::size_t threads, BenchOutput& output) {
    const BenchShape shape = input.shape();
    SteppedOptions options;
    options.scale = scale_of(shape);
    options.mask.causal = input.causal;
    options.threads = threads;
    KeptSteps<float> kept;
    kept.scores = output.scores.data();
    kept.weights = output.weights.data();
    kept.context = output.context.data();
    stepped_attention(input.query.data(), input.key.data(), input.value.data(),
                      {1, shape.groups, shape.length, shape.length, shape.head_dim, shape.head_dim},
                      options, kept);
}

void attend_fused(const BenchInput& input, const BenchSeries& series, BenchOutput& output) {
    const BenchShape shape = input.shape();
    FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
    options.mask.causal = input.causal;
    options.threads = series.threads;
    options.instruction_set = series.instruction_set;
    fused_attention(input.query.data(), input.key.data(), input.value.data(), output.context.data(),
                    {1, shape.groups, shape.length, shape.length, shape.head_dim, shape.head_dim},
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
    return "(" + std::to_string(shape.groups) + "," + std::to_string(shape.length) + "," +
           std::to_string(shape.head_dim) + ")";
}

BenchInput draw_bench_input(const BenchShape& shape, bool causal) {
    const std::unique_ptr<Generator> generator = make_generator(Rng::torch, 42);
    const auto draw = [&] {
        Array<float> drawn = empty_array<float>({shape.groups, shape.length, shape.head_dim});
        generator->randn(std::span<float>(drawn.data(), drawn.size()));
        return drawn;
    };
    Array<float> query = draw();
    Array<float> key = draw();
    Array<float> value = draw();
    return {std::move(query), std::move(key), std::move(value), causal};
}

BenchOutput output_for(const BenchSeries& series, const BenchShape& shape) {
    BenchOutput output;
    const auto take = [](Array<float>& array, const Shape& sizes) {
        array = empty_array<float>(sizes);
        array.fill(0);
    };
    if (series.variant == Variant::vectorized) {
        take(output.scores, {shape.groups, shape.length, shape.length});
        take(output.weights, {shape.groups, shape.length, shape.length});
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
    const double cells = length * length;
    if (series.variant == Variant::vectorized) {
        return 2 * groups * cells * sizeof(float) + context;
    }
    const double kept = causal ? 4 : 3;  // scores, scaled_scores, weights; masked_scores
    return kept * groups * cells * sizeof(float) + (causal ? cells * sizeof(bool) : 0) + context;
}

double useful_operations(const BenchShape& shape, bool causal) {
    const auto length = static_cast<double>(shape.length);
    const double cells = causal ? length * (length + 1) / 2 : length * length;
    return 4.0 * static_cast<double>(shape.groups) * static_cast<double>(shape.head_dim) * cells;
}

}  // namespace attn
