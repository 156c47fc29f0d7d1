#pragma once
#include <cstddef>
#include <cstdint>

#include "attn/ground/tensor/array.hpp"
#include "attn/models/model.hpp"

namespace attn {

/// A loss after the attention of one layer, and its gradient there.
struct ModelLoss {
    double loss = 0;
    Array<double> gradient;  ///< by each cell of that attention's output
};

/// The cross-entropy of a token after the last one: what the rest of a model, its layer's MLP, the
/// layers after it and the logits, makes of the output of a layer's attention.
///
///     loss = -log(softmax(logits of the last row)[id])
///
/// Shapes  x and output (tokens, embed_dim): what the layer starts from, and what its attention
/// adds. Errors  ConfigError for a model that says no next token, or that has experts, and for a
/// layer or an id that it has not; ShapeError for other shapes.
ModelLoss cross_entropy(const models::Model& model, std::size_t layer, std::int64_t id,
                        const Array<double>& x, const Array<double>& output);

}  // namespace attn
