#include "attn/random/torch_generator.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "attn/random/integer_range.hpp"
#include "attn/random/normal_block.hpp"
#include "attn/simd/with_avx2.hpp"

namespace attn {

void TorchGenerator::manual_seed(std::uint64_t seed) {
    engine_.seed(static_cast<std::uint32_t>(seed));
    kept_normal_.reset();
}

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
        with_avx2([=]() __attribute__((always_inline)) {
            for (std::size_t i = 0; i < words.size(); ++i) {
                const auto low_bits = static_cast<std::int32_t>(words[i] & 0xFFFFFFU);
                out[i] = static_cast<float>(low_bits) * 0x1p-24F;
            }
        });
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
    with_avx2([=]() __attribute__((always_inline)) {
        for (T& value : out) value = std::fma(value, range, from);
    });
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

void TorchGenerator::randint(std::span<std::int64_t> out, std::int64_t low, std::int64_t high) {
    // One less than the number of integers, which may be 2^64.
    const std::uint64_t largest = largest_offset(low, high);
    for (std::int64_t& value : out) {
        const std::uint64_t word = largest < 0xFFFFFFFFU ? random() : random64();
        value = offset_from(low, largest + 1 == 0 ? word : word % (largest + 1));
    }
}

void TorchGenerator::randperm(std::span<std::int64_t> out) {
    std::iota(out.begin(), out.end(), std::int64_t{0});
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
        std::swap(out[i], out[i + random() % (out.size() - i)]);
    }
}

}  // namespace attn
