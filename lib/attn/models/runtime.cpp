#include "attn/models/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/layer.hpp"

namespace attn::models {
namespace {

template <class Real>
void add(const Array<Real>& more, Array<Real>& x, double scale = 1) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        x.data()[i] += more.data()[i] * static_cast<Real>(scale);
    }
}

}  // namespace

LayerEdit::LayerEdit(const Without& without, const Architecture& of) : layer(without.layer) {
    check_without(without, of);
    if (without.part == Without::Part::mlp) {
        of_mlp = std::make_shared<Replacement>(without.mean);
    } else {
        table = as_mistake(without, of.heads).apply;
    }
}

std::vector<LayerEdit> edits_of(const std::vector<Without>& without, const Architecture& of) {
    std::vector<LayerEdit> edits;
    for (const Without& each : without) edits.emplace_back(each, of);
    return edits;
}

template <class Real>
Runtime<Real>::Runtime(std::shared_ptr<const Parameters<Real>> parameters,
                       const ModelMistake* mistake, std::vector<LayerEdit> edits)
    : parameters_(std::move(parameters)), mistake_(mistake), edits_(std::move(edits)) {
    refuse_unless(parameters_ != nullptr, "a run needs parameters");
    walks_.resize(parameters_->layers());
    for (const LayerEdit& edit : edits_) {
        refuse_unless(edit.layer < architecture().layers.size(),
                      model().label + " has no layer " + std::to_string(edit.layer) + " to edit");
    }
}

template <class Real>
Array<Real> Runtime<Real>::begin(std::span<const std::int64_t> ids) const {
    const Architecture& a = architecture();
    parameters_->model.check_ids({ids.begin(), ids.end()});
    if (past_ + ids.size() > a.most_tokens) {
        throw ConfigError(parameters_->model.label + " was made for " +
                          std::to_string(a.most_tokens) + " tokens: ask for fewer");
    }
    Embedded<Real> rows = embedding_of(ids);
    if (rows.positions.size() > 0) add(rows.positions, rows.tokens);
    return parameters_->embedding_norm(rows.tokens);
}

template <class Real>
Array<Real> Runtime<Real>::through_layer(std::size_t n, Array<Real> x) {
    const std::size_t texts = x.dimension() == 3 ? x.shape(0) : 0;
    if (x.size() == 0 || x.dimension() != (texts > 0 ? 3 : 2) ||
        x.shape().back() != architecture().embed_dim) {
        throw ShapeError("x " + shape_text(x.shape()) + " does not fit a layer of " +
                         std::to_string(architecture().embed_dim) +
                         " features: give (tokens, features)");
    }
    const std::shared_ptr<const Layer<Real>> layer = parameters_->layer(n);
    if (!walks_[n]) {
        std::vector<TableEdit> tables;
        for (const LayerEdit& edit : edits_) {
            if (edit.layer == n && edit.table) tables.push_back(edit.table);
        }
        walks_[n].emplace(layer->attention, mistake_, std::move(tables));
    }
    if (texts > 0) {
        const Shape shape = x.shape();
        x.reshape({texts * shape[1], shape[2]});
        x = through(*layer, n, std::move(x), texts);
        x.reshape(shape);
        walks_[n].reset();
        return x;
    }
    // A long prompt is split to save memory for scores, unless pieces could change the result.
    const bool is_whole = is_mistaken() || watch_ || !edits_.empty() || !architecture().causal;
    const std::size_t tokens = x.shape(0), features = x.shape(1);
    const std::size_t piece = is_whole ? tokens : 64;
    for (std::size_t first = 0; first < tokens; first += piece) {
        Array<Real> some = empty_array<Real>({std::min(piece, tokens - first), features});
        std::copy_n(&x(first, 0), some.size(), some.data());
        some = through(*layer, n, std::move(some));
        std::copy(some.begin(), some.end(), &x(first, 0));
    }
    if (!parameters_->keeps()) walks_[n].reset();
    return x;
}

template <class Real>
Array<Real> Runtime<Real>::advance(std::span<const std::int64_t> ids) {
    refuse_unless(parameters_->keeps() || past_ == 0,
                  "a second run needs parameters that are kept");
    Array<Real> x = begin(ids);
    for (std::size_t n = 0; n < walks_.size(); ++n) x = through_layer(n, std::move(x));
    past_ += ids.size();
    return x;
}

/// Returns x after layer n: the rows of one text, or of several one after another.
template <class Real>
Array<Real> Runtime<Real>::through(const Layer<Real>& layer, std::size_t n, Array<Real> x,
                                   std::size_t texts) {
    const Architecture& a = architecture();
    seen(n, "x", x);
    if (a.parallel) {
        const Array<Real> from_mlp = mlp(layer, n, x);
        add(attention(layer, n, x, texts), x);
        seen(n, "x_after_attention", x);
        add(from_mlp, x);
    } else if (a.norm_after_sum) {
        add(attention(layer, n, x, texts), x);
        x = layer.attention_output_norm(x);
        add(mlp(layer, n, x), x);
        x = layer.mlp_output_norm(x);
    } else {
        add(attention(layer, n, x, texts), x, a.residual_scale);
        seen(n, "x_after_attention", x);
        add(mlp(layer, n, x), x, a.residual_scale);
    }
    seen(n, "x_after_mlp", x);
    return x;
}

template <class Real>
Embedded<Real> Runtime<Real>::embedding_of(std::span<const std::int64_t> ids) const {
    const Architecture& a = architecture();
    Embedded<Real> rows;
    rows.normed = parameters_->embedding_norm.gain.size() > 0;
    const auto read = [&](const char* table, const std::vector<std::size_t>& which, double scale) {
        const Tensor stored = parameters_->model.read_rows(table, which);
        Array<Real> result = empty_array<Real>({ids.size(), a.embed_dim});
        for (std::size_t i = 0; i < result.size(); ++i) {
            result.data()[i] = static_cast<Real>(stored.at(i)) * static_cast<Real>(scale);
        }
        return result;
    };
    rows.tokens = read("embedding", {ids.begin(), ids.end()}, a.embedding_scale);
    if (!parameters_->model.has("position_embedding")) return rows;
    std::vector<std::size_t> places;
    std::size_t next = past_ + a.first_position;
    for (const std::int64_t id : ids) {
        const bool pads =
            a.first_position > 0 && id + 1 == static_cast<std::int64_t>(a.first_position);
        places.push_back(pads ? a.first_position - 1 : next++);
    }
    rows.positions = read("position_embedding", places, 1);
    return rows;
}

/// Returns the contribution of a layer's attention to x.
template <class Real>
Array<Real> Runtime<Real>::attention(const Layer<Real>& layer, std::size_t n, const Array<Real>& x,
                                     std::size_t texts) {
    Axes axes{"token", "feature"};
    Array<Real> given = x;
    if (texts > 0) {
        axes.insert(axes.begin(), "batch");
        given.reshape({texts, x.shape(0) / texts, x.shape(1)});
    }
    const Ledger ledger = walks_[n]->advance({axes, std::move(given)});
    if (watch_) seen_attention(n, ledger);
    Array<Real> output = ledger["output"].template as<Real>();
    output.reshape(x.shape());
    if (architecture().norm_after_sum) return output;
    return layer.attention_output_norm(output);
}

/// Returns the contribution of a layer's MLP to x: down(act(up(x))), with a gate down(act(gate(x))
/// * up(x)).
template <class Real>
Array<Real> Runtime<Real>::mlp(const Layer<Real>& layer, std::size_t n, const Array<Real>& x) {
    const Architecture& a = architecture();
    const Array<Real> normed = layer.mlp_norm(x);
    seen(n, "mlp_normed_x", normed);
    const auto result = [&](Array<Real> output) {
        for (const LayerEdit& edit : edits_) {
            if (edit.layer != n || edit.of_mlp == nullptr) continue;
            (*edit.of_mlp)(output.data(), output.shape(0), output.shape(1));
        }
        seen(n, "mlp_output", output);
        return output;
    };
    if (a.experts > 0) return result(mix_experts(parameters_->model, n, normed));
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
    const Array<Real> output = result(layer.down(inner));
    return a.norm_after_sum ? output : layer.mlp_output_norm(output);
}

template <class Real>
Array<Real> Runtime<Real>::logits(const Array<Real>& x) const {
    Array<Real> logits = parameters_->vocabulary(parameters_->final_norm(x));
    parameters_->cap(logits);
    return logits;
}

template <class Real>
Array<Real> Runtime<Real>::last_logits(const Array<Real>& x) const {
    refuse_unless(x.dimension() == 2 && x.size() > 0,
                  "there is no token to continue from: give one");
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

Cost cost_of(const Model& model, std::size_t layers, std::size_t tokens, KeepWeights hold,
             std::size_t size, std::size_t branches) {
    const bool all = hold == KeepWeights::all;
    const std::string_view logits = model.has("w_vocab") ? "w_vocab" : "embedding";
    std::vector<double> layer_bytes(layers + 1);  // per layer, and for the output matrix
    double largest = 0;  // of the matrices when read, before they are converted
    Cost cost;
    model.for_each_size([&](std::string_view name, double numbers, double bytes, bool in_blocks) {
        const auto layer = parse_whole<std::size_t>(name.substr(0, name.find('.')));
        // Experts are read on demand, and not counted here.
        if (layer ? *layer >= layers || name.find("experts") != name.npos
                  : !all || name != logits) {
            return;
        }
        const bool of_attention = name.ends_with("w_query") || name.ends_with("w_key") ||
                                  name.ends_with("w_value") || name.ends_with("w_output");
        const double kept = of_attention ? numbers * static_cast<double>(size) : bytes;
        layer_bytes[layer.value_or(layers)] += kept;
        if (of_attention || !in_blocks) {
            largest = std::max(largest, numbers * (of_attention ? 8 : 4));
        }
        cost.read += bytes;
        const std::size_t runs = layer ? 1 + branches * (*layer + 1) : 1;
        cost.multiplied += numbers * static_cast<double>(layer ? tokens * runs : 1);
    });
    cost.in_memory = largest + static_cast<double>(branches * layers * tokens * size) *
                                   static_cast<double>(model.architecture.embed_dim);
    cost.in_memory += (all ? std::accumulate(layer_bytes.begin(), layer_bytes.end(), 0.0)
                           : *std::ranges::max_element(layer_bytes));
    return cost;
}

std::vector<Array<double>> inputs_of_layers(const Model& model, std::span<const std::int64_t> ids,
                                            std::size_t last, const std::vector<Without>& without) {
    refuse_unless(last <= model.architecture.layers.size(),
                  model.label + " has no layer " + std::to_string(last));
    Runtime<double> earlier(std::make_shared<Parameters<double>>(model, last, KeepWeights::nothing),
                            nullptr, edits_of(without, model.architecture));
    std::vector<Array<double>> inputs;
    earlier.watch([&](const LayerPass& passing) { inputs.push_back(passing.tensor.as<double>()); },
                  {"x"});
    inputs.push_back(earlier.advance(ids));
    return inputs;
}

}  // namespace attn::models
