#include "attn/models/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "attn/models/experts.hpp"
#include "attn/simd/kernels.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

template <class Real>
Real activated(Activation kind, Real x) {
    if (kind == Activation::silu) return x / (1 + std::exp(-x));
    if (kind == Activation::gelu) {
        return x / 2 * (1 + std::erf(x * static_cast<Real>(std::numbers::sqrt2 / 2)));
    }
    constexpr double root = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // sqrt(2 / pi)
    const Real inner = static_cast<Real>(root) * (x + static_cast<Real>(0.044715) * x * x * x);
    return x / 2 * (1 + std::tanh(inner));
}

template <class Real>
void add(const Array<Real>& more, Array<Real>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += more.data()[i];
}

}  // namespace

AttentionSettings settings_of(const Architecture& architecture) {
    AttentionSettings settings;
    settings.layers = architecture.layers;
    settings.scale = architecture.scale;
    return settings;
}

template <class Real>
Runtime<Real>::Runtime(std::shared_ptr<const Parameters<Real>> parameters,
                       AttentionSettings settings)
    : parameters_(std::move(parameters)),
      settings_(std::move(settings)),
      caches_(parameters_->layers.size(), {architecture().kv_heads, architecture().head_dim}) {}

template <class Real>
Array<Real> Runtime<Real>::advance(std::span<const std::int64_t> ids) {
    const Architecture& a = architecture();
    parameters_->model.check_ids({ids.begin(), ids.end()});
    if (past_ + ids.size() > a.most_tokens) {
        throw ConfigError(parameters_->model.label + " was made for " +
                          std::to_string(a.most_tokens) + " tokens: ask for fewer");
    }
    Embedded<Real> rows = embedding_of(ids);
    if (rows.positions.size() > 0) add(rows.positions, rows.tokens);
    Array<Real> x = parameters_->embedding_norm(rows.tokens);
    for (std::size_t n = 0; n < caches_.size(); ++n) {
        const Layer<Real>& layer = parameters_->layers[n];
        seen(n, "x", x);
        if (a.parallel) {
            const Array<Real> from_mlp = mlp(n, x);
            add(attention(n, x), x);
            add(from_mlp, x);
        } else if (a.norm_after_sum) {
            add(attention(n, x), x);
            x = layer.attention_output_norm(x);
            add(mlp(n, x), x);
            x = layer.mlp_output_norm(x);
        } else {
            add(attention(n, x), x);
            seen(n, "x_after_attention", x);
            add(mlp(n, x), x);
        }
        seen(n, "x_after_mlp", x);
    }
    past_ += ids.size();
    return x;
}

template <class Real>
Embedded<Real> Runtime<Real>::embedding_of(std::span<const std::int64_t> ids) const {
    const Architecture& a = architecture();
    Embedded<Real> rows;
    rows.normed = parameters_->embedding_norm.gain.size() > 0;
    rows.tokens = empty_array<Real>({ids.size(), a.embed_dim});
    const Tensor tokens = parameters_->model.read_rows("embedding", {ids.begin(), ids.end()});
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
        rows.tokens.data()[i] =
            static_cast<Real>(tokens.at(i)) * static_cast<Real>(a.embedding_scale);
    }
    if (!parameters_->model.has("position_embedding")) return rows;
    std::vector<std::size_t> places(ids.size());
    std::iota(places.begin(), places.end(), past_);
    const Tensor positions = parameters_->model.read_rows("position_embedding", places);
    rows.positions = empty_array<Real>({ids.size(), a.embed_dim});
    for (std::size_t i = 0; i < rows.positions.size(); ++i) {
        rows.positions.data()[i] = static_cast<Real>(positions.at(i));
    }
    return rows;
}

/// What a layer's attention adds to x.
template <class Real>
Array<Real> Runtime<Real>::attention(std::size_t n, const Array<Real>& x) {
    const Layer<Real>& layer = parameters_->layers[n];
    const LayerKind& kind = settings_.layers[n];
    const Array<Real> normed = layer.attention_norm(x);
    seen(n, "normed_x", normed);
    Array<Real> query = layer.query(normed);
    Array<Real> key = layer.key(normed);
    Array<Real> value = layer.value(normed);
    seen_heads(n, "query", query, "query");
    seen_heads(n, "key", key, "key");
    query = layer.query_norm(query);
    key = layer.key_norm(key);
    const std::size_t first = past_ + settings_.first_position;
    if (settings_.rotates_query) rotate(kind, query, settings_.query_from_zero ? 0 : first);
    if (settings_.rotates_key) rotate(kind, key, first);
    if (settings_.rotates_value) rotate(kind, value, first);
    seen_heads(n, "rotated_query", query, "query");
    seen_heads(n, "rotated_key", key, "key");
    seen_heads(n, "value", value, "key");

    caches_[n].append(key, value);
    const Array<Real> merged = context(n, query);
    seen(n, "merged", merged);
    const Array<Real> output = layer.output(merged);
    seen(n, "output", output);
    return architecture().norm_after_sum ? output : layer.attention_output_norm(output);
}

template <class Real>
void Turns<Real>::set(const LayerKind& kind, std::size_t position, std::size_t count) {
    const std::vector<double>& frequencies = kind.inverse_frequencies;
    if (position == first_ && cos.shape() == Shape{count, frequencies.size()} &&
        kind.rotation_factor == factor_ && frequencies == frequencies_) {
        return;
    }
    first_ = position;
    factor_ = kind.rotation_factor;
    frequencies_ = frequencies;
    cos = sin = empty_array<Real>({count, frequencies.size()});
    for (std::size_t t = 0; t < count; ++t) {
        for (std::size_t i = 0; i < frequencies.size(); ++i) {
            const double angle = static_cast<double>(position + t) * frequencies[i];
            cos(t, i) = static_cast<Real>(std::cos(angle) * factor_);
            sin(t, i) = static_cast<Real>(std::sin(angle) * factor_);
        }
    }
}

/// Turns the pairs of features of each head by angles that grow with the position:
///
///     (a, b) -> (a cos - b sin, a sin + b cos),   angle = position * inverse_frequency
template <class Real>
void Runtime<Real>::rotate(const LayerKind& kind, Array<Real>& rows, std::size_t first) {
    if (!kind.pairing) return;
    const std::size_t head_dim = architecture().head_dim;
    const std::size_t pairs = kind.inverse_frequencies.size();
    turns_.set(kind, first, rows.shape(0));
    for (std::size_t t = 0; t < rows.shape(0); ++t) {
        for (std::size_t i = 0; i < pairs; ++i) {
            const FeaturePair pair = feature_pair(*kind.pairing, i, 2 * pairs);
            const Real cos = turns_.cos(t, i);
            const Real sin = turns_.sin(t, i);
            for (std::size_t head = 0; head < rows.shape(1); head += head_dim) {
                Real& a = rows(t, head + pair.first);
                Real& b = rows(t, head + pair.second);
                const Real rotated = a * cos - b * sin;
                b = a * sin + b * cos;
                a = rotated;
            }
        }
    }
}

/// For each new query and head: scores with all keys it may see, softmax, sum of their values.
template <class Real>
Array<Real> Runtime<Real>::context(std::size_t n, const Array<Real>& query) {
    const Architecture& a = architecture();
    const KeyValueCache<Real>& cache = caches_[n];
    const Array<Real>& sink = parameters_->layers[n].sink;
    const std::size_t rows = query.shape(0);
    const std::size_t keys = cache.tokens();
    constexpr Real hidden = -std::numeric_limits<Real>::infinity();
    const auto scale = static_cast<Real>(settings_.scale * settings_.layers[n].scale);
    Array<Real> scores = empty_array<Real>({keys});
    Array<Real> merged = Array<Real>::filled({rows, a.heads * a.head_dim}, 0);
    Array<Real> all_scores, all_weights;
    const bool keeps_scores = watches("scaled_scores");
    const bool keeps_weights = watches("weights");
    if (keeps_scores) all_scores = Array<Real>::filled({a.heads, rows, keys}, hidden);
    if (keeps_weights) all_weights = Array<Real>::filled({a.heads, rows, keys}, 0);
    for (std::size_t t = 0; t < rows; ++t) {
        const std::size_t end = a.causal ? past_ + t + 1 : keys;
        const std::size_t window = settings_.layers[n].window.value_or(end);
        const std::size_t begin = end > window ? end - window : 0;
        const std::size_t visible = end - begin;
        const RowOperations<Real>& row = row_operations<Real>(visible);
        for (std::size_t head = 0; head < a.heads; ++head) {
            const std::size_t kv_head =
                settings_.grouping == Grouping::tile ? head % a.kv_heads : head / a.group();
            scores.fill(0);
            for (std::size_t f = 0; f < a.head_dim; ++f) {
                row.add_multiple(cache.key_feature(kv_head, f) + begin,
                                 query(t, head * a.head_dim + f), scores.data(), visible);
            }
            row.multiply(scores.data(), scale, scores.data(), visible);
            for (std::size_t k = 0; k < visible && a.attention_softcap > 0; ++k) {
                const auto cap = static_cast<Real>(a.attention_softcap);
                scores(k) = cap * std::tanh(scores(k) / cap);
            }
            if (keeps_scores) std::copy_n(scores.data(), visible, &all_scores(head, t, begin));

            Real largest = row.maximum(scores.data(), visible);
            if (sink.size() > 0) largest = std::max(largest, sink(head));
            Real sum = row.exponentials(scores.data(), largest, scores.data(), visible);
            if (sink.size() > 0) sum += std::exp(sink(head) - largest);
            if (settings_.one_in_denominator) sum += std::exp(-largest);
            row.normalize(scores.data(), sum, scores.data(), visible);
            if (keeps_weights) std::copy_n(scores.data(), visible, &all_weights(head, t, begin));

            Real* const sums = &merged(t, head * a.head_dim);
            const RowOperations<Real>& features = row_operations<Real>(a.head_dim);
            for (std::size_t k = 0; k < visible; ++k) {
                features.add_multiple(cache.value(kv_head, begin + k), scores(k), sums, a.head_dim);
            }
        }
    }
    const Axes axes{"head", "query", "key"};
    if (keeps_scores) watch_({n, "scaled_scores", Tensor(axes, std::move(all_scores))});
    if (keeps_weights) watch_({n, "weights", Tensor(axes, std::move(all_weights))});
    return merged;
}

/// What a layer's MLP adds to x: down(act(up(x))), with a gate down(act(gate(x)) * up(x)).
template <class Real>
Array<Real> Runtime<Real>::mlp(std::size_t n, const Array<Real>& x) {
    const Layer<Real>& layer = parameters_->layers[n];
    const Architecture& a = architecture();
    const Array<Real> normed = layer.mlp_norm(x);
    seen(n, "mlp_normed_x", normed);
    if (a.experts > 0) {
        const Array<Real> mixed = mix_experts(parameters_->model, n, normed);
        seen(n, "mlp_output", mixed);
        return mixed;
    }
    Array<Real> inner = layer.up(normed);
    seen(n, "mlp_inner", inner);
    if (layer.gate.present()) {
        const Array<Real> gate = layer.gate(normed);
        for (std::size_t i = 0; i < inner.size(); ++i) {
            inner.data()[i] *= activated(a.activation, gate.data()[i]);
        }
    } else {
        for (Real& number : inner) number = activated(a.activation, number);
    }
    seen(n, "mlp_activated", inner);
    const Array<Real> output = layer.down(inner);
    seen(n, "mlp_output", output);
    return a.norm_after_sum ? output : layer.mlp_output_norm(output);
}

template <class Real>
Array<Real> Runtime<Real>::logits(const Array<Real>& x) const {
    Array<Real> logits = parameters_->vocabulary()(parameters_->final_norm(x));
    const auto cap = static_cast<Real>(architecture().logit_softcap);
    for (std::size_t i = 0; i < logits.size() && cap > 0; ++i) {
        logits.data()[i] = cap * std::tanh(logits.data()[i] / cap);
    }
    return logits;
}

template <class Real>
Array<Real> Runtime<Real>::last_logits(const Array<Real>& x) const {
    refuse_unless(x.dimension() == 2 && x.size() > 0, "there is no token to go on from: give one");
    Array<Real> last = empty_array<Real>({1, x.shape(1)});
    std::copy_n(x.end() - x.shape(1), x.shape(1), last.data());
    return logits(last);
}

template <class Real>
bool Runtime<Real>::watches(std::string_view name) const {
    return watch_ && (watched_.empty() ||
                      std::find(watched_.begin(), watched_.end(), name) != watched_.end());
}

template <class Real>
void Runtime<Real>::seen(std::size_t layer, std::string_view name, const Array<Real>& rows) const {
    if (watches(name)) watch_({layer, name, Tensor({"token", "feature"}, rows)});
}

/// The same for rows (tokens, heads * head_dim): (head, tokens, head_dim).
template <class Real>
void Runtime<Real>::seen_heads(std::size_t layer, std::string_view name, const Array<Real>& rows,
                               const char* positions) const {
    if (!watches(name)) return;
    const std::size_t head_dim = architecture().head_dim;
    Array<Real> heads = empty_array<Real>({rows.shape(1) / head_dim, rows.shape(0), head_dim});
    for (std::size_t t = 0; t < rows.shape(0); ++t) {
        for (std::size_t f = 0; f < rows.shape(1); ++f) {
            heads(f / head_dim, t, f % head_dim) = rows(t, f);
        }
    }
    watch_({layer, name, Tensor({"head", positions, "feature"}, std::move(heads))});
}

template class Runtime<float>;
template class Runtime<double>;

std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last) {
    refuse_unless(last <= model.architecture.layers.size(),
                  model.label + " has no layer " + std::to_string(last));
    Runtime<double> earlier(std::make_shared<Parameters<double>>(model, last),
                            settings_of(model.architecture));
    std::vector<Array<double>> inputs;
    earlier.watch([&](const Passing& passing) { inputs.push_back(passing.tensor.as<double>()); },
                  {"x"});
    inputs.push_back(earlier.advance(ids));
    return inputs;
}

}  // namespace attn::models
