#pragma once
#include "attn/simd/kernels.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// How the scores are brought to scale: divided by a number, or multiplied by one.
struct ScaleFactor {
    enum class Operation { divide, multiply };
    Operation operation = Operation::divide;
    double number = 1;
};

/// Brings the scores to a scale that does not grow with the length of the dot product.
///
///     scaled_scores(q,k) = scores(q,k) / sqrt(head_dim)
///
/// Shapes  scores of any shape; result the same.
/// Why     a sum of d products of unit-variance numbers has variance d; unscaled, long heads would
///         push softmax to one-hot rows.
/// Source  Vaswani et al. 2017, section 3.2.1.
namespace loop {
template <class T>
Array<T> scale(const Array<T>& scores, const ScaleFactor& factor);
}
namespace vectorized {
template <class T>
Array<T> scale(const Array<T>& scores, const ScaleFactor& factor);

/// The same for `count` scores in plain memory.
template <class T>
void scale_row(const RowOperations<T>& rows, const T* scores, const ScaleFactor& factor, T* result,
               std::size_t count);
}  // namespace vectorized

}  // namespace attn
