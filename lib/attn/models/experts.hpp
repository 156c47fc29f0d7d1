#pragma once
#include "attn/models/model.hpp"

namespace attn::models {

/// The MLP of a layer that holds many and asks a few of them for each token, as in gpt-oss: a
/// router scores all experts, softmax over the scores of the best gives their shares, and
///
///     y = sum over chosen e of  share_e * (w_down_e inner_e + b_down_e),
///     inner = (up + 1) * gate * sigmoid(1.702 gate),   up held within +-7, gate below 7
///
/// Shapes  rows and result (tokens, embed_dim).
/// Range   a token gets the same bits whatever tokens stand beside it.
/// Why     only the experts that are chosen are read, one at a time: a layer of gpt-oss-20b has 32
///         of 100 MB each.
/// Source  the modeling file of gpt-oss in transformers.
template <class Real>
Array<Real> mix_experts(const Model& model, std::size_t layer, const Array<Real>& rows);

}  // namespace attn::models
