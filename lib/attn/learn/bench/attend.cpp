#include "attn/learn/bench/attend.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "attn/core/fused/fused_attention.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/core/steps/context.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/mask.hpp"
#include "attn/core/steps/scaling.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/ground/random/generator.hpp"
#include "attn/ground/simd/kernels.hpp"

namespace attn {
namespace {

ScaleFactor scale_of(const BenchShape& shape) {
    return {ScaleFactor::Operation::divide, std::sqrt(static_cast<double>(shape.head_dim))};
}

MaskView mask_of(const BenchInput& input) {
    return {.causal = input.causal,
            .window = input.window > 0,
            .window_offset = 1 - static_cast<std::ptrdiff_t>(input.window)};
}

/// Computes one step after another, as in a walk; but without keeping the scores, so that scaling,
/// mask and softmax work in place.
Array<float> attend_in_steps(const BenchInput& input, const BenchSeries& series) {
    const BenchShape shape = input.shape();
    Arithmetic arithmetic;
    arithmetic.threads = series.threads;
    const auto twin = [&](auto loops, auto whole) {
        return series.variant == Variant::loop ? loops : whole;
    };
    const auto scores_of = twin(loop::scores<float>, vectorized::scores<float>);
    const auto scale = twin(loop::scale<float>, vectorized::scale<float>);
    const auto apply_mask = twin(loop::apply_mask<float>, vectorized::apply_mask<float>);
    const auto softmax = twin(loop::softmax<float>, vectorized::softmax<float>);
    const auto mix = twin(loop::context<float>, vectorized::context<float>);

    const Array<float> key = repeat_heads(input.key, shape.queries_per_key);
    const Array<float> value = repeat_heads(input.value, shape.queries_per_key);
    Array<float> scores = scale(scores_of(input.query, key, arithmetic), scale_of(shape));
    const MaskView view = mask_of(input);
    if (view.causal || view.window) {
        Array<bool> mask = empty_array<bool>({shape.length, shape.length});
        for (std::size_t q = 0; q < shape.length; ++q) {
            for (std::size_t k = 0; k < shape.length; ++k) mask(q, k) = view.hides(0, q, k);
        }
        scores = apply_mask(std::move(scores), mask);
    }
    return mix(softmax(std::move(scores), 2, EmptyRow::nan, {}), value, arithmetic);
}

void attend_fused(const BenchInput& input, const BenchSeries& series, Array<float>& context) {
    const BenchShape shape = input.shape();
    FusedOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
    options.mask = mask_of(input);
    options.threads = series.threads;
    options.instruction_set = series.instruction_set;
    fused_attention(input.query.data(), input.key.data(), input.value.data(), context.data(),
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
    return {std::move(query), std::move(key), std::move(value), causal, window};
}

Array<float> context_buffer(const BenchSeries& series, const BenchShape& shape) {
    if (series.variant != Variant::fused) return {};
    Array<float> context = empty_array<float>({shape.groups, shape.length, shape.head_dim});
    context.fill(0);
    return context;
}

void attend(const BenchSeries& series, const BenchInput& input, Array<float>& context) {
    if (series.variant == Variant::fused) {
        attend_fused(input, series, context);
    } else {
        context = attend_in_steps(input, series);
    }
}

double used_bytes(const BenchSeries& series, const BenchShape& shape, bool causal) {
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
    return groups * cells * sizeof(float) + (causal ? cells * sizeof(bool) : 0) + context +
           repeated;
}

double useful_operations(const BenchShape& shape, bool causal, std::size_t window) {
    const auto sum_to = [](double n) { return n * (n + 1) / 2; };
    const auto length = static_cast<double>(shape.length);
    const double outside_window = window > 0 && window < shape.length
                                      ? sum_to(static_cast<double>(shape.length - window))
                                      : 0;
    const double cells = (causal ? sum_to(length) : length * length) - outside_window;
    return 4.0 * static_cast<double>(shape.groups) * static_cast<double>(shape.head_dim) * cells;
}

}  // namespace attn
