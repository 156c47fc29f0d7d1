#include "attn/ground/random/torch_generator.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

/// PyTorch computes normals in blocks of sixteen.
constexpr std::size_t normal_block_size = 16;
constexpr std::size_t half = normal_block_size / 2;

/// Computes transform_normal_blocks, below, for a 16-bit type: each variable is rounded and, in
/// bfloat16, whose functions return bfloat16, their arguments are, too.
void transform_16_bit_blocks(std::span<float> values, DType type) {
    const auto stored = [type](double number) { return nearest(static_cast<float>(number), type); };
    const auto within = [type](float number) {
        return type == DType::bfloat16 ? nearest(number, type) : number;
    };
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        float* block = values.data() + start;
        for (std::size_t j = 0; j < half; ++j) {
            const float radius = stored(std::sqrt(within(-2.0F * std::log(1.0F - block[j]))));
            const float angle = stored(2.0 * std::numbers::pi * double{block[j + half]});
            block[j] = stored(radius * within(std::cos(angle))) + 0.0F;
            block[j + half] = stored(radius * within(std::sin(angle))) + 0.0F;
        }
    }
}

/// Transforms uniform numbers into normal ones in place, in blocks of sixteen: element j of a block
/// gives the radius and element j + 8 the angle, and they become the two coordinates.
///
///     radius = sqrt(-2 log(1 - u_j));   angle = 2 pi u_(j+8)
///     d_j = radius cos(angle);          d_(j+8) = radius sin(angle)
///
/// Range   values in [0, 1); their number is a multiple of sixteen.
/// Source  Box and Muller 1958.
template <class T>
void transform_normal_blocks(std::span<T> values, TorchBuild build, DType type) {
    assert(values.size() % normal_block_size == 0);
    if constexpr (std::is_same_v<T, float>) {
        if (is_16_bit(type)) return transform_16_bit_blocks(values, type);
        if (build == TorchBuild::avx2) {
            return simd::kernels_for().normal_blocks(values.data(), values.size());
        }
    }
    for (std::size_t start = 0; start < values.size(); start += normal_block_size) {
        T* block = values.data() + start;
        for (std::size_t j = 0; j < half; ++j) {
            const T radius = std::sqrt(T{-2} * std::log(T{1} - block[j]));
            const T angle = static_cast<T>(2.0 * std::numbers::pi * block[j + half]);
            block[j] = radius * std::cos(angle) + T{0};  // adding the mean turns -0 into 0
            block[j + half] = radius * std::sin(angle) + T{0};
        }
    }
}

}  // namespace

/// Draws a uniform number in [0, 1) from the low bits of a draw, as many as the type has.
double TorchGenerator::unit() {
    const std::uint64_t high = engine_();
    return static_cast<double>((high << 32 | engine_()) & 0x1FFFFFFFFFFFFFU) * 0x1p-53;
}

void TorchGenerator::fill_unit(std::span<float> out, DType type) {
    const int bits = type == DType::bfloat16 ? 8 : type == DType::float16 ? 11 : 24;
    const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
    const float step = std::ldexp(1.0F, -bits);
    for (float& value : out) value = static_cast<float>(engine_() & mask) * step;
}

void TorchGenerator::fill_unit(std::span<double> out, DType) {
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

void TorchGenerator::uniform(std::span<float> out, double low, double high, DType type) {
    if (!is_16_bit(type)) return fill_uniform(out, low, high);
    const float from = nearest(static_cast<float>(low), type);
    const float range = nearest(nearest(static_cast<float>(high), type) - from, type);
    fill_unit(out, type);
    for (float& value : out) value = nearest(value * range + from, type);
}

/// Draws a standard normal in double precision. Unlike in the blocks, the first uniform is the
/// angle.
double TorchGenerator::single_normal() {
    if (spare_normal_) return *std::exchange(spare_normal_, std::nullopt);
    const double angle = 2.0 * std::numbers::pi * unit();
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    spare_normal_ = radius * std::sin(angle);
    return radius * std::cos(angle);
}

template <class T>
void TorchGenerator::fill_normal(std::span<T> out, DType type) {
    // Draw a small tensor element by element, in double precision for all types.
    if (out.size() < normal_block_size) {
        for (T& value : out) value = static_cast<T>(single_normal() + 0.0);
        if constexpr (std::is_same_v<T, float>) {
            for (float& value : out) value = nearest(value, type);
        }
        return;
    }
    // Draw all uniforms of a large tensor and transform its whole blocks.
    fill_unit(out, type);
    const std::size_t rest = out.size() % normal_block_size;
    transform_normal_blocks(out.first(out.size() - rest), build_, type);
    if (rest == 0) return;
    // Draw the last sixteen elements again, transformed or not, as one block.
    const std::span<T> tail = out.last(normal_block_size);
    fill_unit(tail, type);
    transform_normal_blocks(tail, build_, type);
}

template void TorchGenerator::fill_uniform(std::span<float>, double, double);
template void TorchGenerator::fill_uniform(std::span<double>, double, double);
template void TorchGenerator::fill_normal(std::span<float>, DType);
template void TorchGenerator::fill_normal(std::span<double>, DType);

}  // namespace attn
