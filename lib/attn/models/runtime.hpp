#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attn/models/layer.hpp"
#include "attn/models/layer_walk.hpp"
#include "attn/models/model.hpp"
#include "attn/models/without.hpp"

namespace attn::models {

/// A tensor of a forward pass. Names are those of the walk: `normed_x`, `query`, `weights`,
/// `output`; `rotated_query`, `rotated_key` and `value` are the inputs of the scores and the
/// context, `scaled_scores` that of softmax, `merged` that of the output projection. Its rows are
/// the latest tokens.
struct LayerPass {
    std::size_t layer;
    std::string_view name;
    Tensor tensor;
};

/// The input of a model's first layer: x is the sum of both, in some models followed by a norm.
template <class Real>
struct Embedded {
    Array<Real> tokens;     ///< (tokens, embed_dim)
    Array<Real> positions;  ///< the same; empty in models that rotate instead
    bool normed = false;
};

/// Returns all layers of a model, for any number of runs; with Hold::nothing each run reads them
/// again.
template <class Real>
std::shared_ptr<const Parameters<Real>> parameters_of(const Model& model,
                                                      KeepWeights hold = KeepWeights::all) {
    return std::make_shared<Parameters<Real>>(model, model.architecture.layers.size(), hold);
}

/// A change to a run of the model: another step table for a layer, or a replacement of its MLP's
/// output.
struct LayerEdit {
    std::size_t layer = 0;
    TableEdit table{};
    std::shared_ptr<Replacement> of_mlp{};

    explicit LayerEdit(const Without& without, const Architecture& of);
    LayerEdit(std::size_t n, TableEdit edit) : layer(n), table(std::move(edit)) {}
};

std::vector<LayerEdit> edits_of(const std::vector<Without>& without, const Architecture& of);

/// Runs a model on tokens, and keeps the keys and values of all of them.
///
///     x = embedding[ids];  in each layer  x += attention(norm(x)),  x += mlp(norm(x));
///     logits = norm(x) embedding^T
///
/// Why    attention is the step table, run with these tokens as queries; the rest of the model
///        is here.
/// Range  tokens one at a time or all at once give the same numbers, except for rounding.
///        With Hold::nothing one layer is in memory at a time, for one run over one text.
template <class Real>
class Runtime {
public:
    /// Runs the model as trained, or with a mistake, which must outlive this, and with edits.
    explicit Runtime(std::shared_ptr<const Parameters<Real>> parameters,
                     const ModelMistake* mistake = nullptr, std::vector<LayerEdit> edits = {});
    /// Reads the model, which must outlive this, for this run alone.
    explicit Runtime(const Model& model) : Runtime(parameters_of<Real>(model)) {}

    /// Returns x after the last layer that was read, one row per token of `ids`.
    ///
    /// Shapes  ids (tokens); result (tokens, embed_dim).
    /// Errors  ConfigError for an id outside of the vocabulary, or more tokens in total than the
    ///         model supports.
    Array<Real> advance(std::span<const std::int64_t> ids);

    /// Returns the input x of advance(), and its two parts.
    Array<Real> begin(std::span<const std::int64_t> ids) const;
    Embedded<Real> embedding_of(std::span<const std::int64_t> ids) const;
    /// Returns x after layer n, one row for each of the latest tokens: a step of advance(). For
    /// several texts of one length, which must begin here, the layer is read once.
    ///
    /// Shapes  x and result (tokens, embed_dim) or (texts, tokens, embed_dim).
    /// Errors  ConfigError for a layer that the model does not have, ShapeError for another x.
    Array<Real> through_layer(std::size_t n, Array<Real> x);

    /// Returns the logits of the token after each row of x.
    Array<Real> logits(const Array<Real>& x) const;
    /// Returns the logits after the last row.
    Array<Real> last_logits(const Array<Real>& x) const;

    /// Calls `watch` with each tensor of these names from now on; without names, with each.
    void watch(std::function<void(LayerPass)> watch, std::vector<std::string_view> names = {}) {
        watch_ = std::move(watch);
        watched_ = std::move(names);
    }

    const Model& model() const { return parameters_->model; }
    bool is_mistaken() const { return mistake_ != nullptr; }
    /// Returns the number of tokens so far.
    std::size_t tokens() const { return past_; }

private:
    Array<Real> through(const Layer<Real>& layer, std::size_t n, Array<Real> x,
                        std::size_t texts = 0);
    Array<Real> attention(const Layer<Real>& layer, std::size_t n, const Array<Real>& x,
                          std::size_t texts);
    Array<Real> mlp(const Layer<Real>& layer, std::size_t n, const Array<Real>& x);
    bool watches(std::string_view name) const;
    void seen(std::size_t layer, std::string_view name, const Array<Real>& rows) const;
    void seen_attention(std::size_t layer, const Ledger& ledger) const;

    const Architecture& architecture() const { return parameters_->model.architecture; }

    std::shared_ptr<const Parameters<Real>> parameters_;
    std::vector<std::optional<LayerWalk>> walks_;  ///< of the layers that were run
    const ModelMistake* mistake_;
    std::vector<LayerEdit> edits_;
    std::size_t past_ = 0;
    std::function<void(LayerPass)> watch_;
    std::vector<std::string_view> watched_;  // no names: all tensors
};

/// The cost of running some layers of a model.
struct Cost {
    double read = 0;        ///< bytes of files
    double in_memory = 0;   ///< bytes in memory at a time
    double multiplied = 0;  ///< numbers
};
/// Returns the cost of `layers` layers for n tokens, in numbers of `size` bytes; with Hold::all
/// including the output matrix. `branches` runs start at each layer and continue to the last.
Cost cost_of(const Model& model, std::size_t layers, std::size_t tokens, KeepWeights hold,
             std::size_t size, std::size_t branches = 0);

/// Returns the input x of each layer up to number `last`, in one run.
///
/// Shapes  ids (tokens); each (tokens, embed_dim).
/// Errors  as Runtime::advance.
std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last,
                                            const std::vector<Without>& without = {});

}  // namespace attn::models
