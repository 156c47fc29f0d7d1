#include "attn/models/model_mistakes.hpp"

#include <algorithm>
#include <cmath>

#include "attn/tensor/error.hpp"
#include "attn/text/closest.hpp"
#include "attn/text/strings.hpp"
#include "attn/text/told.hpp"

namespace attn::models {
namespace {

using Settings = AttentionSettings;

std::string always_shows(const Architecture&) { return {}; }

std::string needs_rotation(const Architecture& a) {
    for (const LayerKind& layer : a.layers) {
        if (layer.pairing) return {};
    }
    return "no layer rotates its queries and keys";
}

std::string needs_groups(const Architecture& a) {
    if (a.kv_heads == a.heads) return "every head has a key/value head of its own";
    return a.kv_heads == 1 ? "there is one key/value head for all" : "";
}

/// theta^(-2i/exponent_dim) for each pair i of a layer, which are then stretched as before.
void change_frequencies(LayerKind& layer, double theta, std::size_t exponent_dim) {
    Array<double> frequencies = empty_array<double>({layer.inverse_frequencies.size()});
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        frequencies(i) =
            std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(exponent_dim));
    }
    if (layer.scaling) {
        frequencies = loop::scale_frequencies(frequencies, *layer.scaling, theta, 0);
    }
    layer.inverse_frequencies.assign(frequencies.begin(), frequencies.end());
}

template <std::size_t window>
void narrow(const Architecture&, Settings& settings) {
    for (LayerKind& layer : settings.layers) {
        layer.window = std::min(layer.window.value_or(window), window);
    }
}

}  // namespace

const std::vector<ModelMistake>& model_mistakes() {
    static const std::vector<ModelMistake> all{
        {"rope-style", "The other two features of each pair are rotated: half for interleaved",
         [](const Architecture&, Settings& settings) {
             for (LayerKind& layer : settings.layers) {
                 if (!layer.pairing) continue;
                 const bool half = layer.pairing == Pairing::half;
                 layer.pairing = half ? Pairing::interleaved : Pairing::half;
             }
         },
         needs_rotation},
        {"rope-missing", "Queries and keys are not rotated: tokens have no positions",
         [](const Architecture&, Settings& settings) {
             settings.rotates_query = settings.rotates_key = false;
         },
         needs_rotation},
        {"rope-q-only", "The queries are rotated, the keys are not",
         [](const Architecture&, Settings& settings) { settings.rotates_key = false; },
         needs_rotation},
        {"rope-k-only", "The keys are rotated, the queries are not",
         [](const Architecture&, Settings& settings) { settings.rotates_query = false; },
         needs_rotation},
        {"rope-offset-q", "A new query is rotated as if it stood at position 0",
         [](const Architecture&, Settings& settings) { settings.query_from_zero = true; },
         needs_rotation},
        {"rope-value", "The values are rotated too",
         [](const Architecture&, Settings& settings) { settings.rotates_value = true; },
         needs_rotation},
        {"rope-exponent", "The exponent of the frequencies is divided by the embedding width",
         [](const Architecture& a, Settings& settings) {
             for (LayerKind& layer : settings.layers) {
                 change_frequencies(layer, layer.theta, a.embed_dim);
             }
         },
         needs_rotation},
        {"rope-theta", "The base of the frequencies is another: 500000, or 10000 for that",
         [](const Architecture&, Settings& settings) {
             for (LayerKind& layer : settings.layers) {
                 change_frequencies(layer, layer.theta == 500000 ? 10000 : 500000,
                                    layer.rotary_dim());
             }
         },
         needs_rotation},
        {"positions-plus-one",
         "Positions are counted from 1: no score changes, for a rotation "
         "depends on distances alone",
         [](const Architecture&, Settings& settings) { settings.first_position = 1; },
         needs_rotation},
        {"gqa-tile", "Head h reads key/value head h % K, not h / (H/K)",
         [](const Architecture&, Settings& settings) { settings.grouping = Grouping::tile; },
         needs_groups},
        {"scale-missing", "The scores are not scaled",
         [](const Architecture&, Settings& settings) { settings.scale = 1; }, always_shows},
        {"scale-twice", "The scores are scaled twice",
         [](const Architecture& a, Settings& settings) { settings.scale = a.scale * a.scale; },
         always_shows},
        {"scale-dmodel", "The scores are divided by the root of the embedding width",
         [](const Architecture& a, Settings& settings) {
             settings.scale = 1 / std::sqrt(static_cast<double>(a.embed_dim));
         },
         always_shows},
        {"window=8", "Each query sees 8 keys only", narrow<8>, always_shows},
        {"window=16", "Each query sees 16 keys only", narrow<16>, always_shows},
        {"window=32", "Each query sees 32 keys only", narrow<32>, always_shows},
        {"softmax-off-by-one", "1 is added to the sum that softmax divides by",
         [](const Architecture&, Settings& settings) { settings.one_in_denominator = true; },
         always_shows},
    };
    return all;
}

namespace {

/// The mean logarithm of the probability that a model gives each token behind those before it.
double mean_log_probability(const std::shared_ptr<const Parameters<float>>& parameters,
                            const AttentionSettings& settings,
                            const std::vector<std::int64_t>& ids) {
    Runtime<float> runtime(parameters, settings);
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
    if (ids.size() < least_tokens || !a.causal || !has_logits || !needs_rotation(a).empty())
        return 0;
    const AttentionSettings other = settings_with(find_model_mistake("rope-style"), a);
    const auto parameters = parameters_of<float>(model);
    return mean_log_probability(parameters, other, ids) -
           mean_log_probability(parameters, settings_of(a), ids);
}

const ModelMistake& find_model_mistake(std::string_view id) {
    std::vector<std::string> ids;
    for (const ModelMistake& mistake : model_mistakes()) {
        if (mistake.id == id) return mistake;
        ids.push_back(mistake.id);
    }
    const std::string meant = closest(id, ids);
    throw ConfigError(
        "$bug: there is no mistake "_told + shown(id) + " of a model" +
        (meant.empty() ? ": choose one of " + joined(ids) : "; did you mean " + meant + "?"));
}

std::vector<std::string> same_mistakes(const ModelMistake& mistake,
                                       const Architecture& architecture) {
    const auto settings = [&](const ModelMistake& of) {
        AttentionSettings made = settings_with(of, architecture);
        made.scale = static_cast<float>(made.scale);  // a root, squared, is not quite what it was
        return made;
    };
    std::vector<std::string> same;
    if (settings(mistake) == settings_of(architecture)) return same;
    for (const ModelMistake& other : model_mistakes()) {
        if (other.id == mistake.id || !other.no_effect(architecture).empty()) continue;
        if (settings(other) == settings(mistake)) same.push_back(other.id);
    }
    return same;
}

AttentionSettings settings_with(const ModelMistake& mistake, const Architecture& architecture) {
    if (const std::string reason = mistake.no_effect(architecture); !reason.empty()) {
        throw ConfigError("$bug "_told + mistake.id + " cannot show: " + reason +
                          ": choose another mistake or model");
    }
    AttentionSettings settings = settings_of(architecture);
    mistake.change(architecture, settings);
    return settings;
}

}  // namespace attn::models
