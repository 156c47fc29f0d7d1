#pragma once
#include <cstddef>
#include <cstdint>

#include "attn/ground/tensor/array.hpp"
#include "attn/models/model.hpp"

namespace attn {

/// The loss of a model as a function of one layer's attention output, with its gradient.
struct ModelLoss {
    double loss = 0;
    Array<double> gradient;  ///< for each cell of that output
};

/// Computes the cross-entropy of the next token as a function of a layer's attention output:
/// through the layer's MLP, the later layers and the logits.
///
///     loss = -log(softmax(logits of the last row)[id])
///
/// Shapes  x and output (tokens, embed_dim): the layer's input, and its attention's output.
/// Errors  ConfigError for a model that predicts no next token or has experts, and for a layer or
///         an id that it does not have; ShapeError for other shapes.
ModelLoss cross_entropy(const models::Model& model, std::size_t layer, std::int64_t id,
                        const Array<double>& x, const Array<double>& output);

}  // namespace attn
