#pragma once
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Appends the keys (or values) of new tokens to those of earlier ones, as a cache does.
///
///     result(t) = past(t) for t < past_len, else added(t - past_len)
///
/// Shapes  past (..., past_len, features), added (..., tokens, features); result
///         (..., past_len + tokens, features).
/// Why     keys and values of a token never change when tokens follow it, so that a model keeps
///         them and computes those of the new token alone.
/// Errors  ShapeError when the leading axes or the features differ.
///
/// A loop, and not the rule of its step, as in rotate.hpp.
template <class T>
Array<T> append_tokens(const Array<T>& past, const Array<T>& added);

}  // namespace attn
