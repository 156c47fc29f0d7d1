#pragma once
#include <cstddef>
#include <functional>
#include <optional>

#include "attn/core/walk/step.hpp"
#include "attn/models/model.hpp"
#include "attn/models/model_mistakes.hpp"

namespace attn::models {

/// Changes `config` to the walk through a layer of a model, except for its inputs: sizes,
/// projections, norms, positions, mask and scale.
void set_layer(const Model& model, std::size_t layer, WalkConfig& config);

/// Adds the parameters of that layer, each transformed by `result`; without a sink if the walk has
/// another one.  Errors  as Model::read.
void give_parameters(const Model& model, std::size_t layer, WalkConfig& config,
                     const std::function<Tensor(const Tensor&)>& result = std::identity());

/// The walk through one layer, some tokens at a time: each call runs the step table, and its keys
/// and values are the past of the next call.
class LayerWalk {
public:
    /// `config` has all parameters, in the dtype of the computation; the mistake and the edits
    /// change the table.
    ///
    /// Errors  ConfigError as resolve().
    LayerWalk(WalkConfig config, const ModelMistake* mistake, std::vector<TableEdit> edits = {});

    /// Computes all tensors of the walk over the next tokens, without the parts of softmax.
    ///
    /// Shapes  x (tokens, embed_dim), or (texts, tokens, embed_dim).
    Ledger advance(Tensor x);

private:
    void prepare(std::size_t tokens, std::size_t texts);

    WalkConfig config_;
    const ModelMistake* mistake_;  ///< null if it has no effect
    std::vector<TableEdit> edits_;
    std::optional<Plan> plan_;  ///< of the latest tokens
    StepTable steps_;           ///< those that apply, without the parameters
    Ledger parameters_;
    std::size_t past_ = 0;
    Tensor past_key_, past_value_;
};

}  // namespace attn::models
