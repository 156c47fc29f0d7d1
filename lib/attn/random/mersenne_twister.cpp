#include "attn/random/mersenne_twister.hpp"

namespace attn {
namespace {

/// The next word of a place of the state, from the words there, after it and 397 places on.
std::uint32_t twisted(std::uint32_t here, std::uint32_t after, std::uint32_t far) {
    const std::uint32_t mixed = (here & 0x80000000U) | (after & 0x7FFFFFFFU);
    const std::uint32_t all_if_odd = 0U - (mixed & 1U);
    return far ^ mixed >> 1U ^ (all_if_odd & 0x9908B0DFU);
}

/// Spreads a word of the state over the bits of the number drawn.
std::uint32_t tempered(std::uint32_t word) {
    word ^= word >> 11U;
    word ^= word << 7U & 0x9D2C5680U;
    word ^= word << 15U & 0xEFC60000U;
    return word ^ word >> 18U;
}

}  // namespace

MersenneTwister::MersenneTwister(std::uint32_t seed) : used_(size) {
    std::uint32_t word = state_[0] = seed;
    for (std::size_t i = 1; i < size; ++i) {
        word = 1812433253U * (word ^ word >> 30U) + static_cast<std::uint32_t>(i);
        state_[i] = word;
    }
}

void MersenneTwister::make_numbers() {
    // Twist each place, with what lies 397 places on, around the end of the state.
    constexpr std::size_t far = 397;
    constexpr std::size_t back = size - far;
    for (std::size_t i = 0; i < back; ++i) {
        state_[i] = twisted(state_[i], state_[i + 1], state_[i + far]);
    }
    for (std::size_t i = back; i + 1 < size; ++i) {
        state_[i] = twisted(state_[i], state_[i + 1], state_[i - back]);
    }
    state_[size - 1] = twisted(state_[size - 1], state_[0], state_[far - 1]);
    for (std::size_t i = 0; i < size; ++i) numbers_[i] = tempered(state_[i]);
    used_ = 0;
}

}  // namespace attn
