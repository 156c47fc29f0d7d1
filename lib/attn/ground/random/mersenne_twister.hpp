#pragma once
#include <cstdint>
#include <random>

namespace attn {

/// std::mt19937 with 32-bit words, which is three times as fast.
using MersenneTwister =
    std::mersenne_twister_engine<std::uint32_t, 32, 624, 397, 31, 0x9908B0DFU, 11, 0xFFFFFFFFU, 7,
                                 0x9D2C5680U, 15, 0xEFC60000U, 18, 1812433253U>;

}  // namespace attn
