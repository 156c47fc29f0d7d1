#pragma once
#include <bit>
#include <cstdint>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Converts 16 bits to a float, exactly, since both types have fewer digits and no wider range.
///
/// Source  IEEE 754 binary16; a brain float is the upper half of a float32.
float half_to_float(std::uint16_t half);
inline float brain_to_float(std::uint16_t brain) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16U);
}

/// Rounds to 16 bits, ties to even.
///
/// Range   a float16 is infinite from 65520 on; nan stays nan.
std::uint16_t float_to_half(float number);
std::uint16_t float_to_brain(float number);

/// Returns the nearest number of float16 or bfloat16; for any other type the number itself.
float nearest(float number, DType type);

}  // namespace attn
