#pragma once
#include "attn/steps/arithmetic.hpp"
#include "attn/steps/projection.hpp"
#include "attn/steps/rotary.hpp"

namespace attn {

/// The way back through attention. `d_` and a name is the gradient of that tensor, how much the
/// loss changes with each of its cells: the derivative of the step that reads it, times the
/// gradient that comes from behind.
///
///     d_query(q,f)   = sum over k of d_scores(q,k) * key(k,f)
///     d_key(k,f)     = sum over q of d_scores(q,k) * query(q,f)
///     d_weights(q,k) = sum over f of d_context(q,f) * value(k,f)
///     d_value(k,f)   = sum over q of weights(q,k) * d_context(q,f)
///
///     row_dot(q)     = sum over k of weights(q,k) * d_weights(q,k)
///     d_softmax(q,k) = weights(q,k) * (d_weights(q,k) - row_dot(q))
///
///     d_projected_x(t,i) = sum over o of d_result(t,o) * weight(o,i)
///     d_projection(o,i)  = sum over t of d_result(t,o) * x(t,i), and over a batch
///     d_embedding(v,f)   = sum over t where ids(t) = v of d_x(t,f)
///     rotate_back        = rotate by the opposite angle
///
/// Shapes  those of scores(), context(), softmax(), project(), embed() and rotate(): a gradient has
///         that of its tensor. row_dot lacks the axis that softmax went along.
/// Range   a row of d_softmax sums to 0: the same added to all scores changes nothing.
/// Why     row_dot is the mean of d_weights by the weights: a score is raised where its weight does
///         better than the mean. A weight near 0 or 1 lets nothing through.
/// Errors  ShapeError when they do not fit, and for an id without a row.
namespace loop {
template <class T>
Array<T> d_query(const Array<T>& d_scores, const Array<T>& key, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_key(const Array<T>& d_scores, const Array<T>& query, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_weights(const Array<T>& d_context, const Array<T>& value, const Arithmetic& how = {});
template <class T>
Array<T> d_value(const Array<T>& d_context, const Array<T>& weights, const Arithmetic& how = {});
template <class T>
Array<T> row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis);
template <class T>
Array<T> d_softmax(const Array<T>& weights, const Array<T>& d_weights, const Array<T>& row_dot,
                   std::size_t axis);
template <class T>
Array<T> d_projected_x(const Array<T>& d_result, const Array<T>& weight, WeightLayout layout,
                       const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_projection(const Array<T>& d_result, const Array<T>& x, WeightLayout layout,
                      const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows);
template <class T>
Array<T> rotate_back(const Array<T>& d_rotated, const Array<T>& cosines, const Array<T>& sines,
                     Pairing pairing, std::size_t first = 0);
}  // namespace loop
namespace vectorized {
template <class T>
Array<T> d_query(const Array<T>& d_scores, const Array<T>& key, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_key(const Array<T>& d_scores, const Array<T>& query, const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_weights(const Array<T>& d_context, const Array<T>& value, const Arithmetic& how = {});
template <class T>
Array<T> d_value(const Array<T>& d_context, const Array<T>& weights, const Arithmetic& how = {});
template <class T>
Array<T> row_dot(const Array<T>& weights, const Array<T>& d_weights, std::size_t axis);
template <class T>
Array<T> d_softmax(const Array<T>& weights, const Array<T>& d_weights, const Array<T>& row_dot,
                   std::size_t axis);
template <class T>
Array<T> d_projected_x(const Array<T>& d_result, const Array<T>& weight, WeightLayout layout,
                       const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_projection(const Array<T>& d_result, const Array<T>& x, WeightLayout layout,
                      const Arithmetic& arithmetic = {});
template <class T>
Array<T> d_embedding(const Array<T>& d_x, const Array<std::int64_t>& ids, std::size_t rows);
template <class T>
Array<T> rotate_back(const Array<T>& d_rotated, const Array<T>& cosines, const Array<T>& sines,
                     Pairing pairing, std::size_t first = 0);
}  // namespace vectorized

}  // namespace attn
