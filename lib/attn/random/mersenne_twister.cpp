#include "attn/random/mersenne_twister.hpp"

#include <algorithm>
#include <cassert>

#include "attn/simd/with_avx2.hpp"

namespace attn {
namespace {

std::uint32_t scrambled(std::uint32_t word) { return word ^ word >> 30U; }

/// What a place of the state becomes, from the words there, after it and 397 places on.
[[gnu::always_inline]] inline std::uint32_t twisted(std::uint32_t here, std::uint32_t after,
                                                    std::uint32_t far) {
    const std::uint32_t mixed = (here & 0x80000000U) | (after & 0x7FFFFFFFU);
    const std::uint32_t all_if_odd = 0U - (mixed & 1U);
    return far ^ mixed >> 1U ^ (all_if_odd & 0x9908B0DFU);
}

/// Spreads a word of the state over the bits of the number drawn.
[[gnu::always_inline]] inline std::uint32_t tempered(std::uint32_t word) {
    word ^= word >> 11U;
    word ^= word << 7U & 0x9D2C5680U;
    word ^= word << 15U & 0xEFC60000U;
    return word ^ word >> 18U;
}

}  // namespace

void MersenneTwister::seed(std::uint32_t word) {
    state_[0] = word;
    for (std::size_t i = 1; i < size; ++i) {
        word = 1812433253U * scrambled(word) + static_cast<std::uint32_t>(i);
        state_[i] = word;
    }
    used_ = size;
}

void MersenneTwister::seed(std::span<const std::uint32_t> words) {
    assert(!words.empty());
    seed(19650218);
    // The place after the last is place 1; place 0 only mirrors the last one.
    std::size_t place = 1;
    const auto go_on = [&] {
        if (++place < size) return;
        state_[0] = state_[size - 1];
        place = 1;
    };
    // Stir the words in, each with its position, until both lists have been gone through.
    for (std::size_t k = 0, word = 0; k < std::max(size, words.size()); ++k) {
        state_[place] = (state_[place] ^ scrambled(state_[place - 1]) * 1664525U) + words[word] +
                        static_cast<std::uint32_t>(word);
        word = (word + 1) % words.size();
        go_on();
    }
    // Stir once more, so that every word reaches every place.
    for (std::size_t k = 1; k < size; ++k) {
        state_[place] = (state_[place] ^ scrambled(state_[place - 1]) * 1566083941U) -
                        static_cast<std::uint32_t>(place);
        go_on();
    }
    // Make sure that the state is not all zero.
    state_[0] = 0x80000000U;
}

void MersenneTwister::make_numbers() {
    std::uint32_t* const state = state_.data();
    std::uint32_t* const numbers = numbers_.data();
    with_avx2([=]() __attribute__((always_inline)) {
        // Twist each place, with what lies 397 places on, around the end of the state.
        constexpr std::size_t far = 397;
        constexpr std::size_t back = size - far;
        for (std::size_t i = 0; i < back; ++i) {
            state[i] = twisted(state[i], state[i + 1], state[i + far]);
        }
        for (std::size_t i = back; i + 1 < size; ++i) {
            state[i] = twisted(state[i], state[i + 1], state[i - back]);
        }
        state[size - 1] = twisted(state[size - 1], state[0], state[far - 1]);
        for (std::size_t i = 0; i < size; ++i) numbers[i] = tempered(state[i]);
    });
    used_ = 0;
}

}  // namespace attn
