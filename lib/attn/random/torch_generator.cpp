#include "attn/random/torch_generator.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "attn/simd/kernels.hpp"

namespace attn {
namespace {

/// PyTorch makes normals sixteen at a time.
constexpr std::size_t normal_block_size = 16;
constexpr std::size_t half = normal_block_size / 2;

/// The blocks of the portable build: no FMA, and the angle rounded once.
void library_blocks(std::span<float> values, float mean, float deviation) {
    constexpr double two_pi = 2.0 * std::numbers::pi;
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        float* block = values.data() + start;
        for (std::size_t j = 0; j < half; ++j) {
            const float radius = std::sqrt(-2.0F * std::log(1.0F - block[j]));
            const float angle = static_cast<float>(two_pi * block[j + half]);
            block[j] = radius * std::cos(angle) * deviation + mean;
            block[j + half] = radius * std::sin(angle) * deviation + mean;
        }
    }
}

/// Turns uniforms into normals, in place, one block of sixteen after the other: element j of a
/// block gives the radius and element j + 8 the angle, and they become the two coordinates.
///
///     radius = sqrt(-2 log(1 - u_j));   angle = 2 pi u_(j+8)
///     d_j = radius cos(angle) * deviation + mean;   d_(j+8) = radius sin(angle) * deviation + mean
///
/// Range   values in [0, 1); their number a multiple of sixteen. In float32, `mean` and `deviation`
///         are rounded first.
/// Source  Box and Muller 1958.
void transform_normal_blocks(std::span<float> values, double mean, double deviation,
                             TorchBuild build) {
    assert(values.size() % normal_block_size == 0);
    const auto rounded_mean = static_cast<float>(mean);
    const auto rounded_deviation = static_cast<float>(deviation);
    if (build == TorchBuild::portable) {
        library_blocks(values, rounded_mean, rounded_deviation);
        return;
    }
    simd::kernels_for().normal_blocks(values.data(), values.size(), rounded_mean,
                                      rounded_deviation);
}

void transform_normal_blocks(std::span<double> values, double mean, double deviation,
                             TorchBuild build) {
    assert(values.size() % normal_block_size == 0);
    const bool fused = build == TorchBuild::avx2;
    const auto placed = [=](double z) {
        return fused ? std::fma(z, deviation, mean) : z * deviation + mean;
    };
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        double* block = values.data() + start;
        for (std::size_t j = 0; j < half; ++j) {
            const double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
            const double angle = 2.0 * std::numbers::pi * block[j + half];
            block[j] = placed(radius * std::cos(angle));
            block[j + half] = placed(radius * std::sin(angle));
        }
    }
}

}  // namespace

std::uint64_t TorchGenerator::random64() {
    const std::uint64_t high = random();
    return high << 32 | random();
}

/// Uniform in [0, 1): as many low bits of a draw as the type has.
double TorchGenerator::unit() {
    return static_cast<double>(random64() & 0x1FFFFFFFFFFFFFU) * 0x1p-53;
}

void TorchGenerator::rand(std::span<float> out) {
    while (!out.empty()) {
        const std::span<const std::uint32_t> words = engine_.take(out.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto low_bits = static_cast<std::int32_t>(words[i] & 0xFFFFFFU);
            out[i] = static_cast<float>(low_bits) * 0x1p-24F;
        }
        out = out.subspan(words.size());
    }
}

void TorchGenerator::rand(std::span<double> out) {
    for (double& value : out) value = unit();
}

template <class T>
void TorchGenerator::fill_uniform(std::span<T> out, double low, double high) {
    const T from = static_cast<T>(low);
    const T range = static_cast<T>(high) - from;
    rand(out);
    if (build_ == TorchBuild::portable) {
        for (T& value : out) value = value * range + from;
        return;
    }
    simd::kernels_for().of<T>().rows.multiply_add(out.data(), range, from, out.data(), out.size());
}

void TorchGenerator::uniform(std::span<float> out, double low, double high) {
    fill_uniform(out, low, high);
}

void TorchGenerator::uniform(std::span<double> out, double low, double high) {
    fill_uniform(out, low, high);
}

/// One standard normal in double precision. Unlike in the blocks, the first uniform is the angle.
double TorchGenerator::single_normal() {
    if (kept_normal_) return *std::exchange(kept_normal_, std::nullopt);
    const double angle = 2.0 * std::numbers::pi * unit();
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    kept_normal_ = radius * std::sin(angle);
    return radius * std::cos(angle);
}

template <class T>
void TorchGenerator::fill_normal(std::span<T> out, double mean, double deviation) {
    // Draw a small tensor one by one, in double precision whatever the type.
    if (out.size() < normal_block_size) {
        const bool fused = build_ == TorchBuild::avx2;
        for (T& value : out) {
            const double z = single_normal();
            value = static_cast<T>(fused ? std::fma(z, deviation, mean) : z * deviation + mean);
        }
        return;
    }
    // Draw all uniforms of a large one and transform its whole blocks.
    rand(out);
    const std::size_t rest = out.size() % normal_block_size;
    transform_normal_blocks(out.first(out.size() - rest), mean, deviation, build_);
    if (rest == 0) return;
    // Draw the last sixteen elements anew, finished or not, as one block.
    const std::span<T> tail = out.last(normal_block_size);
    rand(tail);
    transform_normal_blocks(tail, mean, deviation, build_);
}

void TorchGenerator::normal(std::span<float> out, double mean, double deviation) {
    fill_normal(out, mean, deviation);
}

void TorchGenerator::normal(std::span<double> out, double mean, double deviation) {
    fill_normal(out, mean, deviation);
}

}  // namespace attn
