#pragma once
#include <cstdint>
#include <random>

namespace attn {

/// The numbers of std::mt19937, three times as fast: std::uint_fast32_t, in which that one keeps its
/// state, has 64 bits on Linux.
using MersenneTwister =
    std::mersenne_twister_engine<std::uint32_t, 32, 624, 397, 31, 0x9908b0dfU, 11, 0xffffffffU, 7,
                                 0x9d2c5680U, 15, 0xefc60000U, 18, 1812433253U>;

}  // namespace attn
