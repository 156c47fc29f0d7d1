#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attn/models/layer.hpp"
#include "attn/models/layer_walk.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// A tensor of a forward pass. The names are those of the walk: `normed_x`, `query`, `weights`,
/// `output`; `rotated_query`, `rotated_key` and `value` are what the scores and the context read,
/// `scaled_scores` what softmax reads, `merged` what the output projection reads. Its rows are the
/// tokens that were given last.
struct Passing {
    std::size_t layer;
    std::string_view name;
    Tensor tensor;
};

/// The input of a model's first layer: x is the sum of both, in some models with a
/// norm behind.
template <class Real>
struct Embedded {
    Array<Real> tokens;     ///< (tokens, embed_dim)
    Array<Real> positions;  ///< the same; nothing in models that rotate instead
    bool normed = false;
};

/// All layers of a model, for any number of runs.  Errors  as Parameters.
template <class Real>
std::shared_ptr<const Parameters<Real>> parameters_of(const Model& model) {
    return std::make_shared<Parameters<Real>>(model, model.architecture.layers.size());
}

/// Runs a model on tokens one after another, keeping the keys and values of all of them.
///
///     x = embedding[ids];  in each layer  x += attention(norm(x)),  x += mlp(norm(x));
///     logits = norm(x) embedding^T
///
/// Why    attention is the step table, walked with these tokens as queries; what stands around it
///        in a model is here.
/// Range  tokens one at a time and all at once give the same numbers but for rounding.
template <class Real>
class Runtime {
public:
    /// As the model was trained, or with a mistake, which must outlive this.
    explicit Runtime(std::shared_ptr<const Parameters<Real>> parameters,
                     const ModelMistake* mistake = nullptr);
    /// Reads the model for this run alone, which must not outlive it.
    explicit Runtime(const Model& model) : Runtime(parameters_of<Real>(model)) {}

    /// x behind the last layer that was read, a row for each of these tokens.
    ///
    /// Shapes  ids (tokens); result (tokens, embed_dim).
    /// Errors  ConfigError for an id outside of the vocabulary, or more tokens in all than the
    ///         model was made for.
    Array<Real> advance(std::span<const std::int64_t> ids);

    /// The x that advance() would begin with.
    Embedded<Real> embedding_of(std::span<const std::int64_t> ids) const;

    /// The logits of the token behind each row of x.
    Array<Real> logits(const Array<Real>& x) const;
    /// Those behind the last row.
    Array<Real> last_logits(const Array<Real>& x) const;

    /// Calls `watch` with each tensor of these names from now on; without names, with each.
    void watch(std::function<void(Passing)> watch, std::vector<std::string_view> names = {}) {
        watch_ = std::move(watch);
        watched_ = std::move(names);
    }

    const Model& model() const { return parameters_->model; }
    bool is_mistaken() const { return mistaken_; }
    /// How many tokens it has seen.
    std::size_t tokens() const { return past_; }

private:
    Array<Real> advance_all(std::span<const std::int64_t> ids);
    Array<Real> attention(std::size_t n, const Array<Real>& x);
    Array<Real> mlp(std::size_t n, const Array<Real>& x);
    bool watches(std::string_view name) const;
    void seen(std::size_t layer, std::string_view name, const Array<Real>& rows) const;
    void seen_attention(std::size_t layer, const Ledger& ledger) const;

    const Architecture& architecture() const { return parameters_->model.architecture; }

    std::shared_ptr<const Parameters<Real>> parameters_;
    std::vector<LayerWalk> walks_;
    bool mistaken_;
    std::size_t past_ = 0;
    std::function<void(Passing)> watch_;
    std::vector<std::string_view> watched_;  // no names: all tensors
};

/// The x that each layer up to number `last` starts from, in one run.
///
/// Shapes  ids (tokens); each (tokens, embed_dim).
/// Errors  as Runtime::advance.
std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last);

}  // namespace attn::models
