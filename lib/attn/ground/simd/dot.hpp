#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

namespace attn {

/// How a step computes where more than one way is right.
struct Arithmetic {
    bool fma = true;  ///< loop: round each product and sum together, as PyTorch's AVX2 build does
    bool single_chain = false;  ///< loop: sum each dot product in a single chain
    std::size_t threads = 0;    ///< vectorized: the most that share large products; 0: all cores
};

namespace loop {

/// One dot product, of the pairs of numbers that `pair_at(position)` gives, summed as a build of
/// PyTorch sums it: the even and the odd positions in a chain each, the two chains added at the
/// end; an odd last position is added after that. With `single_chain` all positions make one chain:
/// so does PyTorch when a factor is a vector.
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
