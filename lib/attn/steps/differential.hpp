#pragma once
#include "attn/tensor/array.hpp"

namespace attn {

/// How much of the second softmax of a pair is taken away, learned as two pairs of vectors.
///
///     lambda_full = exp(q1 . k1) - exp(q2 . k2) + lambda_init
///
/// Shapes  q1, k1, q2 and k2 (features); result (1).
/// Why     each exponential starts near 1, so that training starts near lambda_init and can go
///         either way.
/// Errors  ShapeError when the vectors differ in length.
namespace loop {
template <class T>
Array<T> lambda(const Array<T>& q1, const Array<T>& k1, const Array<T>& q2, const Array<T>& k2,
                double lambda_init);
}
namespace vectorized {
template <class T>
Array<T> lambda(const Array<T>& q1, const Array<T>& k1, const Array<T>& q2, const Array<T>& k2,
                double lambda_init);
}

/// Takes the second weights of each pair of neighbouring heads, times lambda, from the first.
///
///     result(h,q,k) = weights(2h,q,k) - lambda * weights(2h+1,q,k)
///
/// Shapes  weights (..., 2 * heads, query_len, key_len); lambda (1); result (..., heads, query_len,
///         key_len).
/// Range   rows sum to 1 - lambda; a cell may be negative.
/// Why     what both softmaxes pay to keys that do not matter cancels.
/// Errors  ShapeError when the heads do not make pairs.
/// Source  Ye et al. 2024, Differential Transformer, eq. (1) to (3).
namespace loop {
template <class T>
Array<T> subtract_pairs(const Array<T>& weights, const Array<T>& lambda);
}
namespace vectorized {
template <class T>
Array<T> subtract_pairs(const Array<T>& weights, const Array<T>& lambda);
}

}  // namespace attn
