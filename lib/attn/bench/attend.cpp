#include "attn/bench/attend.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "attn/fused/dispatch.hpp"
#include "attn/fused/fused_attention.hpp"
#include "attn/random/generator.hpp"
#include "attn/steps/context.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/steps/stepped_attention.hpp"
#include "attn/walk/words.hpp"

namespace attn {
namespace {

BenchShape shape_of_input(const BenchInput& input) {
    return {input.query.shape(0), input.query.shape(1), input.query.shape(2)};
}

ScaleFactor scale_of(const BenchShape& shape) {
    return {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(shape.head_dim))};
}

// Every step's tensor has a name, so that it lives until the context is done.
Array<float> attend_by_loops(const BenchInput& input) {
    const Arithmetic arithmetic;
    const BenchShape shape = shape_of_input(input);
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
Array<float> attend_vectorized(const BenchInput& input, std::size_t threads) {
    const BenchShape shape = shape_of_input(input);
    SteppedOptions options;
    options.scale = scale_of(shape);
    options.mask.causal = input.causal;
    options.threads = threads;
    Array<float> scores = empty_array<float>({shape.groups, shape.length, shape.length});
    Array<float> weights = empty_array<float>({shape.groups, shape.length, shape.length});
    Array<float> context = empty_array<float>({shape.groups, shape.length, shape.head_dim});
    KeptSteps<float> kept;
    kept.scores = scores.data();
    kept.weights = weights.data();
    kept.context = context.data();
    stepped_attention(input.query.data(), input.key.data(), input.value.data(),
                      {1, shape.groups, shape.length, shape.length, shape.head_dim, shape.head_dim},
                      options, kept);
    return context;
}

Array<float> attend_fused(const BenchInput& input, const BenchSeries& series) {
    const BenchShape shape = shape_of_input(input);
    FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
    options.mask.causal = input.causal;
    options.threads = series.threads;
    options.architecture = series.architecture;
    Array<float> context = empty_array<float>({shape.groups, shape.length, shape.head_dim});
    fused_attention(input.query.data(), input.key.data(), input.value.data(), context.data(),
                    {1, shape.groups, shape.length, shape.length, shape.head_dim, shape.head_dim},
                    options);
    return context;
}

}  // namespace

std::string series_name(const BenchSeries& series) {
    std::string name(word(series.variant));
    if (series.variant == Variant::fused) {
        name += " " + std::string(architecture_name(series.architecture));
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

Array<float> attend(const BenchSeries& series, const BenchInput& input) {
    switch (series.variant) {
        case Variant::loop:
            return attend_by_loops(input);
        case Variant::vectorized:
            return attend_vectorized(input, series.threads);
        default:
            return attend_fused(input, series);
    }
}

double held_bytes(const BenchSeries& series, const BenchShape& shape, bool causal) {
    const auto groups = static_cast<double>(shape.groups);
    const auto length = static_cast<double>(shape.length);
    const double context = groups * length * static_cast<double>(shape.head_dim) * sizeof(float);
    if (series.variant == Variant::fused) {
        const fused::Kernels kernels = fused::choose_kernels(series.architecture);
        const std::size_t scratch = kernels.float32.scratch_size(shape.head_dim, shape.head_dim);
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
