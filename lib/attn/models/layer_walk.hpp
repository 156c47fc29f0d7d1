#pragma once
#include <cstddef>
#include <functional>
#include <optional>

#include "attn/core/walk/step.hpp"
#include "attn/models/model.hpp"
#include "attn/models/model_mistakes.hpp"

namespace attn::models {

/// Makes it the walk through a layer of a model, but for what it starts from: sizes, projections,
/// norms, positions, mask and scale.
void set_layer(const Model& model, std::size_t layer, WalkConfig& config);

/// Gives it the parameters of that layer, each as `made` makes it; no sink where the walk has
/// another.  Errors  as Model::read.
void give_parameters(const Model& model, std::size_t layer, WalkConfig& config,
                     const std::function<Tensor(const Tensor&)>& made = std::identity());

/// The walk through one layer, some tokens at a time: the step table runs each time, and the keys
/// and values that it made are the past of the next.
class LayerWalk {
public:
    /// `config` holds all parameters, in the type of the arithmetic; the table is changed by the
    /// mistake and by these edits.
    ///
    /// Errors  ConfigError as resolve().
    LayerWalk(WalkConfig config, const ModelMistake* mistake, std::vector<TableEdit> edits = {});

    /// All tensors of the walk over the next tokens, without the parts of softmax.
    ///
    /// Shapes  x (tokens, embed_dim), or (texts, tokens, embed_dim).
    Ledger advance(Tensor x);

private:
    void prepare(std::size_t tokens, std::size_t texts);

    WalkConfig config_;
    const ModelMistake* mistake_;  ///< null where it cannot show
    std::vector<TableEdit> edits_;
    std::optional<Plan> plan_;  ///< of the tokens that came last
    StepTable steps_;           ///< those that apply, without the parameters
    Ledger parameters_;
    std::size_t past_ = 0;
    Tensor past_key_, past_value_;
};

}  // namespace attn::models
