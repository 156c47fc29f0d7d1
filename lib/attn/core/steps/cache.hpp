#pragma once
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Appends the keys (or values) of new tokens to those of earlier ones, as a cache does.
///
///     result(t) = past(t) for t < past_len, else added(t - past_len)
///
/// Shapes  past (..., past_len, features), added (..., tokens, features); result
///         (..., past_len + tokens, features).
/// Why     keys and values of a token do not change if tokens follow it, so that a model keeps them
///         and computes only those of the new token.
/// Errors  ShapeError if the leading axes or the features differ.
///
/// Computed by a loop, not from the rule of its step; see rotate.hpp.
template <class T>
Array<T> append_tokens(const Array<T>& past, const Array<T>& added);

}  // namespace attn
