#include "attn/ground/tensor/sixteen_bits.hpp"

#include <bit>
#include <cmath>

namespace attn {

float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t exponent = half >> 10U & 0x1FU;
    const std::uint32_t fraction = half & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    // Change the exponent's bias from 15 to 127.
    const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112U;
    return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

namespace {

/// Rounds to the bits above the lowest `count`: adds half a step, minus one if the last kept bit is
/// even, so that ties go to even.
std::uint32_t upper_bits(std::uint32_t bits, unsigned count) {
    const std::uint32_t is_odd = bits >> count & 1U;
    return (bits + (1U << (count - 1)) - 1U + is_odd) >> count;
}

}  // namespace

std::uint16_t float_to_half(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const float magnitude = std::abs(number);
    std::uint32_t half = 0x7E00;  // nan
    if (magnitude >= 65520.0F) {
        half = 0x7C00;
    } else if (magnitude < 0x1p-14F) {
        half = static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24F));
    } else if (magnitude == magnitude) {
        half = upper_bits((bits & 0x7FFFFFFFU) - (112U << 23U), 13);
    }
    return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t float_to_brain(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    if (number != number) return static_cast<std::uint16_t>(bits >> 16U | 0x7FC0U);
    return static_cast<std::uint16_t>(upper_bits(bits, 16));
}

float nearest(float number, DType type) {
    if (type == DType::float16) return half_to_float(float_to_half(number));
    return type == DType::bfloat16 ? brain_to_float(float_to_brain(number)) : number;
}

}  // namespace attn
