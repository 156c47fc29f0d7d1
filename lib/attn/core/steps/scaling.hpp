#pragma once
#include "attn/ground/tensor/array.hpp"

namespace attn {

/// The scale of the scores: a number that divides them, or one that multiplies them.
struct ScaleFactor {
    enum class Operation { divide, multiply };
    Operation operation = Operation::divide;
    double number = 1;
};

/// Scales the scores so that they do not grow with the length of the dot product.
///
///     scaled_scores(q,k) = scores(q,k) / sqrt(head_dim)
///
/// Shapes  scores of any shape; result the same.
/// Why     a sum of d products of unit-variance numbers has variance d; unscaled, a large head_dim
///         would push softmax to one-hot rows.
/// Source  Vaswani et al. 2017, section 3.2.1.
namespace loop {
template <class T>
Array<T> scale(Array<T> scores, const ScaleFactor& factor);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> scale(Array<T> scores, const ScaleFactor& factor);
}  // namespace vectorized

}  // namespace attn
