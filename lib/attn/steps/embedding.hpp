#pragma once
#include "attn/tensor/tensor.hpp"

namespace attn {

/// Looks every token id up in the embedding table: token t becomes row ids(t).
///
///     x(t,f) = embedding(ids(t), f)
///
/// Shapes  ids (batch, tokens) or (tokens), embedding (vocab, features); result (..., tokens,
/// features). Errors  ShapeError when an id has no row.
namespace loop {
template <class T>
Array<T> embed(const Array<std::int64_t>& ids, const Array<T>& embedding);
}
namespace vectorized {
template <class T>
Array<T> embed(const Array<std::int64_t>& ids, const Array<T>& embedding);
}

}  // namespace attn
