#pragma once
#include <xtensor/xmath.hpp>

#include "attn/steps/softmax.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {

/// Turns each score into a weight by itself, in the place of softmax.
///
///     w(q,k) = 1 / (1 + exp(-s(q,k)))
///
/// Shapes  masked_scores (..., query_len, key_len); result the same.
/// Range   from 0, where the mask hides, to 1; rows sum to anything from 0 to key_len.
/// Source  Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid
///         Self-Attention", whose bias of -log(key_len) is a number on the scores and not added
///         here.
namespace loop {
template <class T>
Array<T> sigmoid(Array<T> scores) {
    for (T& score : scores) score = 1 / (1 + exact_exp(-score));
    return scores;
}
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> sigmoid(const Array<T>& scores) {
    return evaluated<T>(T(1) / (T(1) + xt::exp(-as_xtensor(scores))));
}
}  // namespace vectorized

}  // namespace attn
