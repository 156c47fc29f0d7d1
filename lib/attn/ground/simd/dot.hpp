#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

namespace attn {

/// Choices among several correct ways to compute a step.
struct Arithmetic {
    bool fma = true;  ///< loop: round product and sum together, as in PyTorch's AVX2 build
    bool single_chain = false;  ///< loop: sum each dot product in a single chain
    std::size_t threads = 0;    ///< vectorized: most threads for large products; 0: one per core
};

namespace loop {

/// Computes a dot product of the pairs that `pair_at(position)` returns, with the summation order
/// of PyTorch: one chain each for even and odd positions, added at the end; an odd last position is
/// added after that. With `single_chain` there is one chain for all positions, as in PyTorch if a
/// factor is a vector.
template <class T, class PairAt>
T dot(const Arithmetic& arithmetic, std::size_t count, const PairAt& pair_at) {
    const auto add = [&](T& sum, std::size_t position) {
        const auto [x, y] = pair_at(position);
        sum = arithmetic.fma ? std::fma(x, y, sum) : sum + x * y;
    };
    T even = 0, odd = 0;
    std::size_t position = 0;
    for (; position + 1 < count && !arithmetic.single_chain; position += 2) {
        add(even, position);
        add(odd, position + 1);
    }
    T sum = even + odd;
    for (; position < count; ++position) add(sum, position);
    return sum;
}

}  // namespace loop

}  // namespace attn
