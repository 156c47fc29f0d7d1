#include "attn/models/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/models/layer.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

template <class Real>
void add(const Array<Real>& more, Array<Real>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += more.data()[i];
}

}  // namespace

template <class Real>
Runtime<Real>::Runtime(std::shared_ptr<const Parameters<Real>> parameters,
                       const ModelMistake* mistake)
    : parameters_(std::move(parameters)), mistaken_(mistake != nullptr) {
    for (const Layer<Real>& layer : parameters_->layers) {
        walks_.emplace_back(layer.attention, mistake);
    }
}

template <class Real>
Array<Real> Runtime<Real>::advance(std::span<const std::int64_t> ids) {
    const Architecture& a = architecture();
    parameters_->model.check_ids({ids.begin(), ids.end()});
    if (past_ + ids.size() > a.most_tokens) {
        throw ConfigError(parameters_->model.label + " was made for " +
                          std::to_string(a.most_tokens) + " tokens: ask for fewer");
    }
    // A long prompt goes in pieces, whose scores take little memory; a mistake may tell them apart.
    const std::size_t piece = mistaken_ || watch_ || !a.causal ? ids.size() : 64;
    Array<Real> all = empty_array<Real>({ids.size(), a.embed_dim});
    for (std::size_t first = 0; first < ids.size(); first += piece) {
        const Array<Real> x = advance_all(ids.subspan(first, std::min(piece, ids.size() - first)));
        std::copy(x.begin(), x.end(), all.data() + first * a.embed_dim);
    }
    return all;
}

template <class Real>
Array<Real> Runtime<Real>::advance_all(std::span<const std::int64_t> ids) {
    const Architecture& a = architecture();
    Embedded<Real> rows = embedding_of(ids);
    if (rows.positions.size() > 0) add(rows.positions, rows.tokens);
    Array<Real> x = parameters_->embedding_norm(rows.tokens);
    for (std::size_t n = 0; n < walks_.size(); ++n) {
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
    const auto read = [&](const char* table, const std::vector<std::size_t>& which, double scale) {
        const Tensor stored = parameters_->model.read_rows(table, which);
        Array<Real> made = empty_array<Real>({ids.size(), a.embed_dim});
        for (std::size_t i = 0; i < made.size(); ++i) {
            made.data()[i] = static_cast<Real>(stored.at(i)) * static_cast<Real>(scale);
        }
        return made;
    };
    rows.tokens = read("embedding", {ids.begin(), ids.end()}, a.embedding_scale);
    if (!parameters_->model.has("position_embedding")) return rows;
    std::vector<std::size_t> places(ids.size());
    std::iota(places.begin(), places.end(), past_);
    rows.positions = read("position_embedding", places, 1);
    return rows;
}

/// What a layer's attention adds to x.
template <class Real>
Array<Real> Runtime<Real>::attention(std::size_t n, const Array<Real>& x) {
    const Ledger ledger = walks_[n].advance({{"token", "feature"}, x});
    if (watch_) seen_attention(n, ledger);
    const Array<Real>& output = ledger["output"].template as<Real>();
    if (architecture().norm_after_sum) return output;
    return parameters_->layers[n].attention_output_norm(output);
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

template <class Real>
void Runtime<Real>::seen_attention(std::size_t layer, const Ledger& ledger) const {
    const auto see = [&](std::string_view name, const Tensor* tensor) {
        if (tensor != nullptr && watches(name)) watch_({layer, name, *tensor});
    };
    const auto latest = [&](Chain chain, std::string_view before = {}) {
        return &ledger.latest(chain, before);
    };
    see("normed_x", ledger.find("normed_x"));
    see("query", ledger.find("query"));
    see("key", ledger.find("key"));
    see("rotated_query", latest(Chain::queries));
    see("rotated_key", latest(Chain::keys, "present_key"));
    see("value", latest(Chain::values, "present_value"));
    see("scaled_scores", latest(Chain::scores));
    see("weights", ledger.find("weights"));
    see("merged", latest(Chain::contexts, "output"));
    see("output", ledger.find("output"));
}

template class Runtime<float>;
template class Runtime<double>;

std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last) {
    refuse_unless(last <= model.architecture.layers.size(),
                  model.label + " has no layer " + std::to_string(last));
    Runtime<double> earlier(std::make_shared<Parameters<double>>(model, last));
    std::vector<Array<double>> inputs;
    earlier.watch([&](const Passing& passing) { inputs.push_back(passing.tensor.as<double>()); },
                  {"x"});
    inputs.push_back(earlier.advance(ids));
    return inputs;
}

}  // namespace attn::models
