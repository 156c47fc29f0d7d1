#include "attn/random/normal_block.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "attn/random/polynomial.hpp"
#include "attn/simd/with_avx2.hpp"

namespace attn {
namespace {

constexpr std::size_t half = normal_block_size / 2;

/// The blocks of the AVX2 build. Small loops over half a block, so that the compiler may give each
/// to one vector instruction after the other; the digits are the same whether it does or not.
[[gnu::always_inline]] inline void polynomial_blocks(std::span<float> values, float mean,
                                                     float deviation) {
    constexpr float two_pi = static_cast<float>(2.0 * std::numbers::pi);
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        float* block = values.data() + start;
        std::array<float, half> radius;
        for (std::size_t j = 0; j < half; ++j) {
            radius[j] = -2.0F * polynomial::log(1.0F - block[j]);
        }
        for (std::size_t j = 0; j < half; ++j) radius[j] = std::sqrt(radius[j]);
        for (std::size_t j = 0; j < half; ++j) {
            const polynomial::SineCosine at = polynomial::sine_cosine(two_pi * block[j + half]);
            block[j] = std::fma(radius[j] * at.cosine, deviation, mean);
            block[j + half] = std::fma(radius[j] * at.sine, deviation, mean);
        }
    }
}

/// The blocks of the portable build: nothing fused, and the angle rounded once.
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

}  // namespace

void transform_normal_blocks(std::span<float> values, double mean, double deviation,
                             TorchBuild build) {
    assert(values.size() % normal_block_size == 0);
    const auto rounded_mean = static_cast<float>(mean);
    const auto rounded_deviation = static_cast<float>(deviation);
    if (build == TorchBuild::portable) {
        library_blocks(values, rounded_mean, rounded_deviation);
        return;
    }
    with_avx2([=]() __attribute__((always_inline)) {
        polynomial_blocks(values, rounded_mean, rounded_deviation);
    });
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

}  // namespace attn
