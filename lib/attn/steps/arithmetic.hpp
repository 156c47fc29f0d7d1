#pragma once
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
      const Arithmetic& arithmetic);

}  // namespace loop
}  // namespace attn
