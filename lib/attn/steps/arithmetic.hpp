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

/// The dot products of one vector with `outputs` others, each summed as a build of PyTorch does:
/// the even and the odd positions in a chain each, the two chains added at the end; an odd last
/// position is added after that. With `one_chain` all positions make one chain: so does PyTorch
/// when a factor is a vector.
///
/// Shapes  `a` and each of the others are `count` numbers: those of `a` side by side, those of the
///         others `b_stride` elements apart; `b_distance` elements lie from one of the others to
///         the next. `results` are side by side.
template <class T>
void dots(const T* a, const T* b, std::size_t b_stride, std::size_t b_distance, std::size_t count,
          std::size_t outputs, const Arithmetic& arithmetic, T* results);

}  // namespace loop
}  // namespace attn
