#pragma once
#include <cmath>
#include <cstddef>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// How a step computes where more than one way is right.
struct Arithmetic {
    bool fused =
        true;         ///< loop twins: fuse each product with its sum, as PyTorch's AVX2 build does
    int threads = 1;  ///< vectorized twins: threads for large products, 0 means all cores
    bool one_chain = false;  ///< loop twins: sum each dot product in a single chain
};

namespace loop {

/// One dot product as a build of PyTorch sums it: the even and the odd positions in a chain each,
/// the two chains added at the end; an odd last position is added after that. With `one_chain` all
/// positions make one chain: so does PyTorch when a factor is a vector.
///
/// Shapes  a and b are `count` numbers, `a_stride` and `b_stride` elements apart.
template <class T>
T dot(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, std::size_t count,
      const Arithmetic& arithmetic) {
    const auto add_product = [&](T sum, std::size_t i) {
        const T x = a[i * a_stride];
        const T y = b[i * b_stride];
        return arithmetic.fused ? std::fma(x, y, sum) : sum + x * y;
    };
    T even = 0;
    T odd = 0;
    if (arithmetic.one_chain) {
        for (std::size_t i = 0; i < count; ++i) even = add_product(even, i);
        return even;
    }
    for (std::size_t i = 0; i + 1 < count; i += 2) {
        even = add_product(even, i);
        odd = add_product(odd, i + 1);
    }
    const T sum = even + odd;
    return count % 2 == 1 ? add_product(sum, count - 1) : sum;
}

}  // namespace loop
}  // namespace attn
