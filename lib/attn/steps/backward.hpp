#pragma once
#include "attn/steps/arithmetic.hpp"
#include "attn/steps/projection.hpp"
#include "attn/steps/rotary.hpp"

namespace attn {

// The way back through attention: `d_` and a name is the gradient of that tensor, how much the loss
// changes with each of its cells. Each function is the derivative of the step of that name, times
// the gradient that comes from behind.

/// Back through scores(q,k) = sum over f of query(q,f) * key(k,f):
///
///     d_query(q,f) = sum over k of d_scores(q,k) * key(k,f)
///     d_key(k,f)   = sum over q of d_scores(q,k) * query(q,f)
///
/// Shapes  d_scores (..., query_len, key_len), query (..., query_len, head_dim), key (..., key_len,
///         head_dim).
/// Errors  ShapeError when they do not fit.
namespace loop {
template <class T>
Array<T> d_query(const Array<T>& d_scores, const Array<T>& key, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_key(const Array<T>& d_scores, const Array<T>& query, const Arithmetic& arithmetic = {});
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> d_query(const Array<T>& d_scores, const Array<T>& key, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_key(const Array<T>& d_scores, const Array<T>& query, const Arithmetic& arithmetic = {});
}  // namespace vectorized

/// Back through context(q,f) = sum over k of weights(q,k) * value(k,f):
///
///     d_weights(q,k) = sum over f of d_context(q,f) * value(k,f)
///     d_value(k,f)   = sum over q of weights(q,k) * d_context(q,f)
///
/// Shapes  d_context (..., query_len, value_dim), weights (..., query_len, key_len), value (...,
///         key_len, value_dim).
/// Errors  ShapeError when they do not fit.
namespace loop {
template <class T>
Array<T> d_weights(const Array<T>& d_context, const Array<T>& value,
                   const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_value(const Array<T>& d_context, const Array<T>& weights,
                 const Arithmetic& arithmetic = {});
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> d_weights(const Array<T>& d_context, const Array<T>& value,
                   const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_value(const Array<T>& d_context, const Array<T>& weights,
                 const Arithmetic& arithmetic = {});
}  // namespace vectorized

/// Back through softmax along `axis`. Each weight depends on all scores of its row:
///
///     row_dot(q)      = sum over k of weights(q,k) * d_weights(q,k)
///     d_scores(q,k)   = weights(q,k) * (d_weights(q,k) - row_dot(q))
///
/// Shapes  weights, d_weights and d_scores the same; row_dot without the axis.
/// Range   a row of d_scores sums to 0: the same added to all scores changes nothing.
/// Why     row_dot is the mean of d_weights by the weights: a score is raised where its weight does
///         better than the mean. A weight near 0 or 1 lets nothing through.
namespace loop {
template <class T>
Array<T> row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis);
template <class T>
Array<T> d_softmax(const Array<T>& weights, const Array<T>& d_weights, const Array<T>& row_dot,
                   std::size_t axis);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis);
template <class T>
Array<T> d_softmax(const Array<T>& weights, const Array<T>& d_weights, const Array<T>& row_dot,
                   std::size_t axis);
}  // namespace vectorized

/// Back through result(t,o) = sum over i of x(t,i) * weight(o,i):
///
///     d_x(t,i)      = sum over o of d_result(t,o) * weight(o,i)
///     d_weight(o,i) = sum over t of d_result(t,o) * x(t,i), and over the sequences of a batch
///
/// Shapes  those of project() in attn/steps/projection.hpp; with a head axis d_x adds up the heads.
/// Errors  ShapeError when they do not fit.
namespace loop {
template <class T>
Array<T> d_projected_x(const Array<T>& d_result, const Array<T>& weight, WeightLayout layout,
                       const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_projection(const Array<T>& d_result, const Array<T>& x, std::size_t heads,
                      WeightLayout layout, const Arithmetic& arithmetic = {});
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> d_projected_x(const Array<T>& d_result, const Array<T>& weight, WeightLayout layout,
                       const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_projection(const Array<T>& d_result, const Array<T>& x, std::size_t heads,
                      WeightLayout layout, const Arithmetic& arithmetic = {});
}  // namespace vectorized

/// Back through a rotation: by the opposite angle. Arguments as rotate() in attn/steps/rotary.hpp.
namespace loop {
template <class T>
Array<T> rotate_back(const Array<T>& d_rotated, const Array<T>& cosines, const Array<T>& sines,
                     Pairing pairing, std::size_t first = 0);
}
namespace vectorized {
template <class T>
Array<T> rotate_back(const Array<T>& d_rotated, const Array<T>& cosines, const Array<T>& sines,
                     Pairing pairing, std::size_t first = 0);
}

/// Back through a look-up: each row of the table gets the sum of all tokens that it was copied to.
///
///     d_embedding(v,f) = sum over t where ids(t) = v of d_x(t,f)
///
/// Shapes  d_x (..., tokens, features), ids (..., tokens); result (rows, features).
/// Errors  ShapeError when there is not one id for each row of d_x, or one has no row.
namespace loop {
template <class T>
Array<T> d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows);
}
namespace vectorized {
template <class T>
Array<T> d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows);
}

}  // namespace attn
