#pragma once
#include <cstddef>
#include <span>

#include "attn/random/generator.hpp"

namespace attn {

/// How a new tensor gets its numbers.
enum class Initialisation {
    zeros,          ///< nothing is drawn
    ones,           ///< nothing is drawn: a gain before training
    uniform,        ///< uniform in [0, 1)
    normal,         ///< standard normal
    small_normal,   ///< normal with deviation 0.1
    embedding,      ///< standard normal too: the table of PyTorch's `nn.Embedding`
    linear_weight,  ///< of PyTorch's `nn.Linear`: uniform within 1/sqrt(in), as PyTorch rounds it
    linear_bias,    ///< uniform within 1/sqrt(in)
    xavier,         ///< PyTorch's `xavier_uniform_`: uniform within sqrt(6 / (in + out))
};

/// Fills the cells of a tensor that belongs to a layer of `in` and `out` features.
///
/// Source  Glorot and Bengio 2010, eq. (16), for xavier.
template <class T>
void initialise(std::span<T> cells, Initialisation how, std::size_t in, std::size_t out,
                Generator& generator);

}  // namespace attn
