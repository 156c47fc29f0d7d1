#pragma once
#include "attn/core/steps/rotary.hpp"
#include "attn/ground/tensor/array.hpp"

namespace attn {

/// Rotary positions: each pair of features is a point in a plane, which is rotated by an angle that
/// grows with the token's position. Early pairs rotate fast, late ones slowly.
///
///     inverse_frequencies(i) = theta^(-2i / rotary_dim)
///     angles(t,i)            = positions(t) * inverse_frequencies(i)
///     cosines(t,i)           = cos(angles(t,i)) * factor;   sines the same of sin
///     (a, b) of pair i       becomes (a cos - b sin, b cos + a sin)
///
/// Shapes  positions (tokens); inverse_frequencies (pairs), half of rotary_dim; angles, cosines and
///         sines (tokens, pairs); x and its rotation (..., tokens, features). The rotary_dim
///         features from `first` on are rotated, the others unchanged.
/// Range   a pair keeps its length (times factor); position 0 changes nothing.
/// Errors  ShapeError if there is not one row of cosines per token.
/// Why     the dot product of two rotated rows depends only on their distance, not on their
///         positions. Rounding is that of Hugging Face's models: three operations for an inverse
///         frequency, one for an angle, two products and a sum for a feature, without FMA.
/// Source  Su et al. 2021, RoFormer, section 3.2.
///
/// These are loops, not the rules of their steps: a text is generated one token at a time, and
/// binding a rule in each layer would take longer than the computation.
template <class T>
Array<T> inverse_frequencies(double theta, std::size_t rotary_dim);
template <class T>
Array<T> angles(const Array<std::int64_t>& positions, const Array<T>& inverse_frequencies);
template <class T>
Array<T> cosines(const Array<T>& angles, double factor = 1);
template <class T>
Array<T> sines(const Array<T>& angles, double factor = 1);
template <class T>
Array<T> rotate(const Array<T>& x, const Array<T>& cosines, const Array<T>& sines, Pairing pairing,
                std::size_t first = 0);

}  // namespace attn
