#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attn {

/// The numbers of std::mt19937, made 624 at a time: taken as spans, they turn into floats in loops
/// that the compiler makes vectors of.
///
/// Source  Matsumoto and Nishimura 1998, with the initialisation of 2002.
class MersenneTwister {
public:
    explicit MersenneTwister(std::uint32_t seed);

    /// Range  all 32-bit words.
    std::uint32_t operator()() {
        if (used_ == size) make_numbers();
        return numbers_[used_++];
    }

    /// The next numbers, as many as are ready and `most` at most, but one at least. They last
    /// until the next draw.
    std::span<const std::uint32_t> take(std::size_t most) {
        if (used_ == size) make_numbers();
        const std::size_t count = std::min(most, size - used_);
        used_ += count;
        return std::span(numbers_).subspan(used_ - count, count);
    }

private:
    static constexpr std::size_t size = 624;

    void make_numbers();

    std::array<std::uint32_t, size> state_;
    std::array<std::uint32_t, size> numbers_;
    std::size_t used_;
};

}  // namespace attn
