#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attn {

/// The seed sequence with which NumPy starts its Mersenne Twister from a list of integers; pass it
/// to the constructor or to `seed` of MersenneTwister. One integer in a list is not that integer
/// alone.
///
/// Range   at least one word; the words must outlive the seeding.
/// Source  Matsumoto and Nishimura 2002, `init_by_array`.
class ArraySeed {
public:
    using result_type = std::uint_least32_t;

    explicit ArraySeed(std::span<const std::uint32_t> words) : words_(words) {
        assert(!words.empty());
    }

    /// Writes the twister's state.
    template <class Iterator>
    void generate(Iterator begin, Iterator end) const {
        const auto size = static_cast<std::size_t>(end - begin);
        assert(size == state_size);
        // Start from the state that one fixed seed gives.
        State state;
        state[0] = 19650218;
        for (std::size_t i = 1; i < size; ++i) {
            state[i] = 1812433253U * scrambled(state[i - 1]) + static_cast<std::uint32_t>(i);
        }
        // Stir the words in, each with its position, until both lists have been gone through.
        std::size_t place = 1;
        for (std::size_t k = 0, word = 0; k < std::max(size, words_.size()); ++k) {
            state[place] = (state[place] ^ scrambled(state[place - 1]) * 1664525U) + words_[word] +
                           static_cast<std::uint32_t>(word);
            word = (word + 1) % words_.size();
            place = next(place, state);
        }
        // Stir once more, so that every word reaches every place.
        for (std::size_t k = 1; k < size; ++k) {
            state[place] = (state[place] ^ scrambled(state[place - 1]) * 1566083941U) -
                           static_cast<std::uint32_t>(place);
            place = next(place, state);
        }
        // Make sure that the state is not all zero.
        state[0] = 0x80000000U;
        std::copy(state.begin(), state.end(), begin);
    }

private:
    static constexpr std::size_t state_size = 624;
    using State = std::array<std::uint32_t, state_size>;

    static std::uint32_t scrambled(std::uint32_t word) { return word ^ (word >> 30); }

    /// The place after `place`; place 0 only mirrors the last one.
    static std::size_t next(std::size_t place, State& state) {
        if (place + 1 < state_size) return place + 1;
        state[0] = state[state_size - 1];
        return 1;
    }

    std::span<const std::uint32_t> words_;
};

}  // namespace attn
