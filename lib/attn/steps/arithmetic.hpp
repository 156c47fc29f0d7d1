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

/// Vectors of `count` numbers, `how_many` of them, wherever their numbers lie.
template <class T>
struct Vectors {
    const T* numbers;
    std::size_t how_many, count;
    std::size_t from_vector_to_vector, from_number_to_number;  ///< in elements

    const T& at(std::size_t vector, std::size_t number) const {
        return numbers[vector * from_vector_to_vector + number * from_number_to_number];
    }
};

/// The rows of a matrix (rows, columns), and its columns.
template <class T>
Vectors<T> rows_of(const T* matrix, std::size_t rows, std::size_t columns) {
    return {matrix, rows, columns, columns, 1};
}
template <class T>
Vectors<T> columns_of(const T* matrix, std::size_t rows, std::size_t columns) {
    return {matrix, columns, rows, 1, columns};
}

/// The dot product of each vector of `a` with each of `b`, summed as a build of PyTorch does: the
/// even and the odd positions in a chain each, the two chains added at the end; an odd last
/// position is added after that. With `one_chain` all positions make one chain: so does PyTorch
/// when a factor is a vector.
///
/// Shapes  `results`: (a.how_many, b.how_many), row after row; both of the same `count`.
template <class T>
void dots(const Vectors<T>& a, const Vectors<T>& b, const Arithmetic& arithmetic, T* results);

}  // namespace loop
}  // namespace attn
