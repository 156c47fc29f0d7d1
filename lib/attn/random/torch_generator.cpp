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

/// Turns uniforms into normals, in place, one block of sixteen after the other: element j of a
/// block gives the radius and element j + 8 the angle, and they become the two coordinates.
///
///     radius = sqrt(-2 log(1 - u_j));   angle = 2 pi u_(j+8)
///     d_j = radius cos(angle);          d_(j+8) = radius sin(angle)
///
/// Range   values in [0, 1); their number a multiple of sixteen.
/// Source  Box and Muller 1958.
template <class T>
void transform_normal_blocks(std::span<T> values, TorchBuild build) {
    assert(values.size() % normal_block_size == 0);
    if constexpr (std::is_same_v<T, float>) {
        if (build == TorchBuild::avx2) {
            return simd::kernels_for().normal_blocks(values.data(), values.size());
        }
    }
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        T* block = values.data() + start;
        for (std::size_t j = 0; j < half; ++j) {
            const T radius = std::sqrt(T{-2} * std::log(T{1} - block[j]));
            const T angle = static_cast<T>(2.0 * std::numbers::pi * block[j + half]);
            block[j] = radius * std::cos(angle) + T{0};  // the mean, which makes 0 of -0
            block[j + half] = radius * std::sin(angle) + T{0};
        }
    }
}

}  // namespace

/// Uniform in [0, 1): as many low bits of a draw as the type has.
double TorchGenerator::unit() {
    const std::uint64_t high = engine_();
    return static_cast<double>((high << 32 | engine_()) & 0x1FFFFFFFFFFFFFU) * 0x1p-53;
}

void TorchGenerator::fill_unit(std::span<float> out) {
    for (float& value : out) value = static_cast<float>(engine_() & 0xFFFFFFU) * 0x1p-24F;
}

void TorchGenerator::fill_unit(std::span<double> out) {
    for (double& value : out) value = unit();
}

template <class T>
void TorchGenerator::fill_uniform(std::span<T> out, double low, double high) {
    const T from = static_cast<T>(low);
    const T range = static_cast<T>(high) - from;
    fill_unit(out);
    if (build_ == TorchBuild::portable) {
        for (T& value : out) value = value * range + from;
        return;
    }
    simd::kernels_for().of<T>().rows.multiply_add(out.data(), range, from, out.data(), out.size());
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
void TorchGenerator::fill_normal(std::span<T> out) {
    // Draw a small tensor one by one, in double precision whatever the type.
    if (out.size() < normal_block_size) {
        for (T& value : out) value = static_cast<T>(single_normal() + 0.0);
        return;
    }
    // Draw all uniforms of a large one and transform its whole blocks.
    fill_unit(out);
    const std::size_t rest = out.size() % normal_block_size;
    transform_normal_blocks(out.first(out.size() - rest), build_);
    if (rest == 0) return;
    // Draw the last sixteen elements anew, finished or not, as one block.
    const std::span<T> tail = out.last(normal_block_size);
    fill_unit(tail);
    transform_normal_blocks(tail, build_);
}

template void TorchGenerator::fill_uniform(std::span<float>, double, double);
template void TorchGenerator::fill_uniform(std::span<double>, double, double);
template void TorchGenerator::fill_normal(std::span<float>);
template void TorchGenerator::fill_normal(std::span<double>);

}  // namespace attn
