#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attn/models/layer.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// How the heads of query find their key/value head: h / (H/K) as trained, or h % K by mistake.
enum class Grouping { neighbours, tile };

/// What attention does in each layer: as the model was trained, or with a mistake
/// (model_mistakes.hpp).
struct AttentionSettings {
    std::vector<LayerKind> layers;
    double scale = 1;
    Grouping grouping = Grouping::neighbours;
    bool rotates_query = true;
    bool rotates_key = true;
    bool rotates_value = false;       ///< never right
    bool query_from_zero = false;     ///< positions of new queries forget the past: never right
    std::size_t first_position = 0;   ///< of the first token
    bool one_in_denominator = false;  ///< softmax off by one
    bool operator==(const AttentionSettings&) const = default;
};

/// The settings that a model was trained with.
AttentionSettings settings_of(const Architecture& architecture);

/// A tensor of a forward pass, as it comes to be. The names are those of the walk: `normed_x`,
/// `query`, `rotated_key`, `weights`, `output`; its rows are the tokens that were given last.
struct Passing {
    std::size_t layer;
    std::string_view name;
    Tensor tensor;
};

/// What a model makes of tokens before its first layer: x is the sum of both, in some models with a
/// norm behind.
template <class Real>
struct Embedded {
    Array<Real> tokens;     ///< (tokens, embed_dim)
    Array<Real> positions;  ///< the same; nothing in models that rotate instead
    bool normed = false;
};

/// Cosines and sines of the angles at some positions, (tokens, pairs): the same for query and key,
/// and in most models for all layers.
template <class Real>
class Turns {
public:
    Array<Real> cos, sin;

    /// Makes them those of a layer at `count` positions from `first` on, unless they are.
    void set(const LayerKind& kind, std::size_t first, std::size_t count);

private:
    std::vector<double> frequencies_;
    double factor_ = 0;
    std::size_t first_ = 0;
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
/// Range  tokens one at a time and all at once give the same bits.
template <class Real>
class Runtime {
public:
    Runtime(std::shared_ptr<const Parameters<Real>> parameters, AttentionSettings settings);
    /// Reads the model for this run alone, which must not outlive it.
    explicit Runtime(const Model& model)
        : Runtime(parameters_of<Real>(model), settings_of(model.architecture)) {}

    /// x behind the last layer that was read, a row for each of these tokens.
    ///
    /// Shapes  ids (tokens); result (tokens, embed_dim).
    /// Errors  ConfigError for an id outside of the vocabulary, or more tokens in all than the
    ///         model was made for.
    Array<Real> advance(std::span<const std::int64_t> ids);

    /// What advance() would begin with.
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
    /// How many tokens it has seen.
    std::size_t tokens() const { return past_; }

private:
    Array<Real> attention(std::size_t n, const Array<Real>& x);
    Array<Real> mlp(std::size_t n, const Array<Real>& x);
    void rotate(const LayerKind& kind, Array<Real>& rows, std::size_t first);
    Array<Real> context(std::size_t n, const Array<Real>& query);
    bool watches(std::string_view name) const;
    void seen(std::size_t layer, std::string_view name, const Array<Real>& rows) const;
    void seen_heads(std::size_t layer, std::string_view name, const Array<Real>& rows,
                    const char* positions) const;

    const Architecture& architecture() const { return parameters_->model.architecture; }

    std::shared_ptr<const Parameters<Real>> parameters_;
    AttentionSettings settings_;
    std::vector<KeyValueCache<Real>> caches_;  // one for each layer
    Turns<Real> turns_;
    std::size_t past_ = 0;
    std::function<void(Passing)> watch_;
    std::vector<std::string_view> watched_;  // no names: all tensors
};

/// What each layer up to number `last` starts from, in one run.
///
/// Shapes  ids (tokens); each (tokens, embed_dim).
/// Errors  as Runtime::advance.
std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last);

}  // namespace attn::models
