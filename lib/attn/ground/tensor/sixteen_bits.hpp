#pragma once
#include <bit>
#include <cstdint>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The number that 16 bits hold: exact in float32, since both types have fewer digits and no wider
/// range.
///
/// Source  IEEE 754 binary16; a brain float is the upper half of a float32.
float half_to_float(std::uint16_t half);
inline float brain_to_float(std::uint16_t brain) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16U);
}

/// The 16 bits of the nearest number of the type, ties to even.
///
/// Range   from 65520 on a float16 is infinite; what is not a number stays so.
std::uint16_t float_to_half(float number);
std::uint16_t float_to_brain(float number);

/// The nearest number of float16 or bfloat16; of any other type the number itself.
float nearest(float number, DType type);

}  // namespace attn
