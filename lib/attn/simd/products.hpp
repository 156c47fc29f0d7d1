#pragma once
#include <array>
#include <cstddef>

#include "attn/simd/parallel.hpp"
#include "attn/tensor/matmul.hpp"
#include "attn/tensor/matrix_view.hpp"

namespace attn {

/// The second factors of matrix products, packed once for first factors that come some rows at a
/// time: BLAS would pack them anew for each block. Belongs to one thread.
class PackedProducts {
public:
    /// As multiply() below, for one matrix.
    template <class T>
    void multiply(MatrixView<const T> a, MatrixView<const T> b, Second second,
                  MatrixView<T> result);

private:
    struct Packed {
        const void* matrix = nullptr;  ///< whose numbers these are
        Scratch memory;
    };

    std::array<Packed, 2> packed_;  ///< the last factor stored transposed, and the last other one
};

/// The products of the matrices of `a` with those of `b`, group by group. Where a block needs no
/// more than the first columns of a transposed `b`, or the first rows of another, its result, or
/// `a`, is as narrow.
///
/// Shapes  a (groups, m, k); b (groups, >= k, n), or (groups, >= n, k) when it is stored
///         transposed; result (groups, m, n).
/// Range   the digits of a row do not depend on the rows that it is computed with.
template <class T>
void multiply(MatrixView<const T> a, MatrixView<const T> b, Second second, MatrixView<T> result,
              PackedProducts* packed = nullptr);

}  // namespace attn
