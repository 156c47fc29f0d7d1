#pragma once
#include <cstdint>

#include "attn/tensor/array.hpp"

namespace attn {

/// A fixed row of features for each position: sines and cosines of its angles, alternating.
///
///     sinusoids(t, 2i)   = sin(positions(t) * 10000^(-2i / features))
///     sinusoids(t, 2i+1) = cos of the same angle
///
/// Shapes  positions (tokens); result (tokens, features). An odd width ends with a sine.
/// Range   from -1 to 1; a row of even width has length sqrt(features / 2).
/// Why     the product of two rows depends on the difference of their positions alone.
/// Source  Vaswani et al. 2017, section 3.5.
namespace loop {
template <class T>
Array<T> sinusoids(const Array<std::int64_t>& positions, std::size_t features);
}
namespace vectorized {
template <class T>
Array<T> sinusoids(const Array<std::int64_t>& positions, std::size_t features);
}

/// Adds the same rows to every sequence.
///
/// Shapes  x (..., tokens, features), rows (tokens, features); result as x.
namespace loop {
template <class T>
Array<T> add_rows(const Array<T>& x, const Array<T>& rows);
}
namespace vectorized {
template <class T>
Array<T> add_rows(const Array<T>& x, const Array<T>& rows);
}

}  // namespace attn
