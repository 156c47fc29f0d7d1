#pragma once
#include "attn/core/steps/arithmetic.hpp"

namespace attn {

/// The weighted sum of the values: each query weights all values by its attention weights.
///
///     context(q,f) = sum over keys k of weights(q,k) * value(k,f)
///
/// Shapes  weights (..., query_len, key_len), value (..., key_len, value_dim);
///         context (..., query_len, value_dim).
/// Errors  ShapeError if the numbers of keys or the leading axes differ.
/// Source  Vaswani et al. 2017, eq. (1).
namespace loop {
template <class T>
Array<T> context(const Array<T>& weights, const Array<T>& value, const Arithmetic& arithmetic = {});
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> context(const Array<T>& weights, const Array<T>& value, const Arithmetic& arithmetic = {});
}  // namespace vectorized

}  // namespace attn
