#pragma once
#include "attn/ground/tensor/array.hpp"

namespace attn {

/// Bounds the scores softly: small ones hardly change, none grows beyond the cap.
///
///     capped_scores(q,k) = cap * tanh(scaled_scores(q,k) / cap)
///
/// Shapes  scores of any shape; result the same.
/// Range   -cap to cap. The quotient, tanh and the product are each rounded.
/// Why     a single large score would get all the weight of its row; tanh keeps the order of the
///         scores and has a nonzero slope everywhere, unlike clamping.
/// Source  Gemma Team 2024, Gemma 2, section 2.
namespace loop {
template <class T>
Array<T> soft_cap(Array<T> scores, double cap);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> soft_cap(Array<T> scores, double cap);
}  // namespace vectorized

}  // namespace attn
