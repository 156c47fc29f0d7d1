#pragma once
#include "attn/steps/arithmetic.hpp"
#include "attn/steps/projection.hpp"

namespace attn {

/// Appends features that all heads share to the features of each head.
///
///     result(b,h,t,:) = rows(b,h,t,:) | shared(b,t,:)
///
/// Shapes  rows (..., heads, tokens, features); shared (..., tokens, more); result (..., heads,
///         tokens, features + more).
/// Errors  ShapeError when batch or tokens differ.
namespace loop {
template <class T>
Array<T> append_shared(const Array<T>& rows, const Array<T>& shared);
}
namespace vectorized {
template <class T>
Array<T> append_shared(const Array<T>& rows, const Array<T>& shared);
}

/// Multiplies the rows of each head by the matrix of that head.
///
///     result(b,h,t,o) = sum over features f of rows(b,h,t,f) * matrices(h,f,o)
///
/// Shapes  rows (..., heads, tokens, features), of which those after the matrices' are left out;
///         matrices (heads, features, outputs); result (..., heads, tokens, outputs).
/// Errors  ShapeError when the heads differ or the rows are too short.
namespace loop {
template <class T>
Array<T> multiply_heads(const Array<T>& rows, const Array<T>& matrices,
                        const Arithmetic& arithmetic);
}
namespace vectorized {
template <class T>
Array<T> multiply_heads(const Array<T>& rows, const Array<T>& matrices,
                        const Arithmetic& arithmetic);
}

/// The part of a stored weight that makes features `first` to `first + count` of each head, a
/// matrix for each head: (heads, count, in).
///
/// Shapes  weight (heads * width, in), or (in, heads * width) with in_out.
/// Errors  ShapeError when a head has fewer features.
template <class T>
Array<T> head_matrices(const Array<T>& weight, WeightLayout layout, std::size_t heads,
                       std::size_t first, std::size_t count);

}  // namespace attn
