#pragma once
#include <cstddef>

#include "attn/random/generator.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The weight (out, in) and, when asked for, the bias (out) of PyTorch's `nn.Linear`.
template <class T>
struct LinearParameters {
    Array<T> weight;
    Array<T> bias;  ///< shape (0) when the layer has none
};

/// Draws `nn.Linear(in, out, bias)`: the weight first, then the bias.
///
/// Range   weight uniform in [-1/sqrt(in), 1/sqrt(in)), computed as PyTorch computes the bound.
template <class T>
LinearParameters<T> draw_linear(Generator& generator, std::size_t in, std::size_t out, bool bias);

/// Draws the table of `nn.Embedding(rows, columns)`, standard normal. Row `padding_row`, when not
/// negative, is set to zero after it was drawn like the others.
template <class T>
Array<T> draw_embedding(Generator& generator, std::size_t rows, std::size_t columns,
                        std::ptrdiff_t padding_row = -1);

/// The parameters of PyTorch's `nn.MultiheadAttention`.
template <class T>
struct MultiheadParameters {
    Array<T> w_qkv;    ///< (3E, E); shape (0) when key or value width differ from E
    Array<T> w_query;  ///< (E, E), (E, key_dim), (E, value_dim) when they differ; else shape (0)
    Array<T> w_key;
    Array<T> w_value;
    Array<T> b_qkv;     ///< (3E) zeros, shape (0) without bias
    Array<T> w_output;  ///< (E, E)
    Array<T> b_output;  ///< (E) zeros, shape (0) without bias
};

/// Draws `nn.MultiheadAttention(embed_dim, heads, bias, kdim=key_dim, vdim=value_dim)`: the output
/// projection as a Linear whose bias is drawn and then zeroed, then the input projections (Xavier).
template <class T>
MultiheadParameters<T> draw_multihead(Generator& generator, std::size_t embed_dim, bool bias,
                                      std::size_t key_dim, std::size_t value_dim);

}  // namespace attn
