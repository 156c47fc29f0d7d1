#include "attn/models/model_mistakes.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {
namespace {

std::string needs_rotation(const WalkConfig& layer) {
    return layer.rotary.pairing ? "" : "no layer rotates its queries and keys";
}

/// Changes the frequencies to theta^(-2i/embed_dim) for pair i, by another base.
void divide_by_embedding_width(WalkConfig& layer) {
    const double share =
        static_cast<double>(*layer.rotary.dim) / static_cast<double>(*layer.embed_dim);
    layer.rotary.theta = std::pow(layer.rotary.theta, share);
}

template <std::int64_t window>
void narrow(WalkConfig& layer) {
    layer.mask.window = std::min(layer.mask.window.value_or(window), window);
}

/// Adds 1 to the sums of softmax: a sink with logit 0, or the existing one plus 1.
void add_one_to_sums(WalkConfig& layer) {
    Array<double> logits = Array<double>::filled({static_cast<std::size_t>(layer.heads)}, 0);
    if (const Tensor* sink = layer.parameters.find("sink")) {
        for (std::size_t h = 0; h < logits.size(); ++h)
            logits(h) = std::log1p(std::exp(sink->at(h)));
    }
    layer.sink = SinkLogit::given;
    layer.parameters.record("sink",
                            cast(Tensor({"head"}, logits), layer.dtype.value_or(DType::float64)));
}

ModelMistake of_catalogue(std::string id, std::string_view entry) {
    const Mistake& mistake = find_mistake(entry);
    return {std::move(id), &mistake, mistake.title};
}

}  // namespace

const std::vector<ModelMistake>& model_mistakes() {
    const auto same = [](const char* id) { return of_catalogue(id, id); };
    const auto of_past = [](const char* id, const char* entry) {
        ModelMistake mistake = of_catalogue(id, entry);
        mistake.is_of_past = true;
        return mistake;
    };
    static const std::vector<ModelMistake> all{
        same("rope-style"),
        same("rope-missing"),
        same("rope-q-only"),
        same("rope-k-only"),
        same("rope-offset-q"),
        of_past("rope-value", "rope-value=kept"),
        {"rope-exponent", nullptr,
         "The exponent of the frequencies is divided by the embedding width",
         divide_by_embedding_width, needs_rotation},
        same("rope-theta"),
        of_past("positions-plus-one", "positions-plus-one"),
        same("gqa-tile"),
        same("scale-missing"),
        same("scale-twice"),
        same("scale-dmodel"),
        {"window=8", nullptr, "Each query sees 8 keys only", narrow<8>},
        {"window=16", nullptr, "Each query sees 16 keys only", narrow<16>},
        {"window=32", nullptr, "Each query sees 32 keys only", narrow<32>},
        {"softmax-off-by-one", nullptr, "1 is added to the divisor of softmax", add_one_to_sums}};
    return all;
}

std::string ModelMistake::why_not(const WalkConfig& layer) const {
    if (entry == nullptr) return no_effect == nullptr ? "" : no_effect(layer);
    WalkConfig text = layer;
    text.query_len = is_of_past ? 3 : 1;
    if (!is_of_past) text.past = 2;
    return entry->not_applicable(resolve(std::move(text)));
}

std::string ModelMistake::why_not(const Model& model) const {
    std::string reason;
    for (std::size_t n = 0; n < model.architecture.layers.size(); ++n) {
        WalkConfig layer;
        set_layer(model, n, layer);
        reason = why_not(layer);
        if (reason.empty()) break;
    }
    return reason;
}

ModelMistake find_model_mistake(std::string_view id) {
    std::vector<std::string> ids;
    for (const ModelMistake& mistake : model_mistakes()) {
        if (mistake.id == id) return mistake;
        ids.push_back(mistake.id);
    }
    const std::vector<Mistake>& catalogue = mistakes();
    const auto found = std::ranges::find(catalogue, id, &Mistake::id);
    if (found != catalogue.end()) return of_catalogue(found->id, id);
    throw ConfigError("$bug: there is no mistake "_message + quoted_text(id) + " of a model" +
                      did_you_mean(id, ids, ": choose one of " + joined(ids)));
}

ModelMistake find_model_mistake(std::string_view id, const Model& model) {
    ModelMistake mistake = find_model_mistake(id);
    if (const std::string reason = mistake.why_not(model); !reason.empty()) {
        // Reasons in the catalogue end with advice on settings, which does not apply to a model.
        throw ConfigError("$bug "_message + mistake.id +
                          " has no effect: " + reason.substr(0, reason.find(": pass ")) +
                          ": choose another mistake or model");
    }
    return mistake;
}

namespace {

/// Returns the mean log-probability of each token given those before it.
double mean_log_probability(const std::shared_ptr<const Parameters<float>>& parameters,
                            const ModelMistake* mistake, const std::vector<std::int64_t>& ids) {
    Runtime<float> runtime(parameters, mistake);
    const Array<float> logits = runtime.logits(runtime.advance(ids));
    const std::size_t vocab = logits.shape(1);
    double total = 0;
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
        const float* const row = logits.data() + t * vocab;
        const double largest = *std::max_element(row, row + vocab);
        double sum = 0;
        for (std::size_t id = 0; id < vocab; ++id) sum += std::exp(row[id] - largest);
        total += row[ids[t + 1]] - largest - std::log(sum);
    }
    return total / static_cast<double>(ids.size() - 1);
}

}  // namespace

double gain_of_other_pairing(const Model& model, const std::vector<std::int64_t>& ids) {
    constexpr std::size_t least_tokens = 8;
    const Architecture& a = model.architecture;
    const bool has_logits = a.tied || model.has("w_vocab");
    const ModelMistake other = find_model_mistake("rope-style");
    if (ids.size() < least_tokens || !a.causal || !has_logits || !other.why_not(model).empty()) {
        return 0;
    }
    const auto parameters = parameters_of<float>(model, KeepWeights::nothing);
    return mean_log_probability(parameters, &other, ids) -
           mean_log_probability(parameters, nullptr, ids);
}

}  // namespace attn::models
