#pragma once
#include "attn/core/steps/arithmetic.hpp"

namespace attn {

/// Compares each query with each key by a dot product. Also called attention logits.
///
///     scores(q,k) = sum over features f of query(q,f) * key(k,f)
///
/// Shapes  query (..., query_len, head_dim), key (..., key_len, head_dim);
///         scores (..., query_len, key_len).
/// Errors  ShapeError if the feature lengths or the leading axes differ.
/// Source  Vaswani et al. 2017, eq. (1).
namespace loop {
template <class T>
Array<T> scores(const Array<T>& query, const Array<T>& key, const Arithmetic& arithmetic = {});
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> scores(const Array<T>& query, const Array<T>& key, const Arithmetic& arithmetic = {});
}  // namespace vectorized

}  // namespace attn
