#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, Family>, 14> family_words{{
    {"llama", Family::llama},
    {"mistral", Family::llama},
    {"qwen2", Family::qwen2},
    {"qwen3", Family::qwen3},
    {"gemma2", Family::gemma2},
    {"gemma3", Family::gemma3},
    {"gemma3_text", Family::gemma3},
    {"olmo2", Family::olmo2},
    {"phi", Family::phi},
    {"phi3", Family::phi3},
    {"gpt_neox", Family::neox},
    {"gpt2", Family::gpt2},
    {"bert", Family::bert},
    {"gpt_oss", Family::gpt_oss},
}};

/// A configuration and how messages call it.
class Config {
public:
    Config(const Json& json, const std::string& label) : json_(json), label_(label) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": give the config.json of the model");
    }

    /// The first of these keys that is there and not null.
    const Json* find(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            const auto found = json_.find(key);
            if (found != json_.end() && !found->is_null()) return &*found;
        }
        return nullptr;
    }
    std::size_t size(std::initializer_list<const char*> keys, std::size_t usual = 0) const {
        constexpr std::uint64_t most = 1U << 22U;
        const Json* value = find(keys);
        if (value == nullptr && usual > 0) return usual;
        const std::string key = *keys.begin();
        if (value == nullptr) refuse("lacks " + key);
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
            value->get<std::uint64_t>() > most) {
            refuse(key + " is no size: " +
                   shown(value->dump(-1, ' ', false, Json::error_handler_t::replace)));
        }
        return value->get<std::size_t>();
    }
    double number(std::initializer_list<const char*> keys, double usual) const {
        const Json* value = find(keys);
        if (value == nullptr) return usual;
        if (!value->is_number() || !std::isfinite(value->get<double>())) {
            refuse(std::string(*keys.begin()) + " is no number");
        }
        return value->get<double>();
    }
    bool flag(const char* key, bool usual) const {
        const Json* value = find({key});
        if (value == nullptr) return usual;
        if (!value->is_boolean()) refuse(std::string(key) + " is neither true nor false");
        return value->get<bool>();
    }
    std::string word(std::initializer_list<const char*> keys, const std::string& usual) const {
        const Json* value = find(keys);
        if (value == nullptr) return usual;
        if (!value->is_string()) refuse(std::string(*keys.begin()) + " is no word");
        return value->get<std::string>();
    }
    std::vector<double> numbers(const char* key) const {
        const Json* value = find({key});
        if (value == nullptr || !value->is_array()) refuse(std::string(key) + " is no list");
        std::vector<double> all;
        for (const Json& each : *value) {
            if (!each.is_number() || !(each.get<double>() > 0)) {
                refuse(std::string(key) + " holds what is no number above 0");
            }
            all.push_back(each.get<double>());
        }
        return all;
    }
    Config part(std::initializer_list<const char*> keys) const {
        static const Json nothing = Json::object();
        const Json* value = find(keys);
        return {value != nullptr && value->is_object() ? *value : nothing, label_};
    }

private:
    const Json& json_;
    const std::string& label_;
};

Activation activation_in(const Config& config, const std::string& usual) {
    const std::string word =
        config.word({"hidden_activation", "hidden_act", "activation_function"}, usual);
    if (word == "silu" || word == "swish") return Activation::silu;
    if (word == "gelu") return Activation::gelu;
    if (word == "gelu_new" || word == "gelu_fast" || word == "gelu_pytorch_tanh") {
        return Activation::gelu_tanh;
    }
    config.refuse("the activation " + shown(word) + " is not known here");
}

/// Whether layer n slides a window, where the configuration says so or its family does.
bool slides(const Config& config, Family family, std::size_t n) {
    if (const Json* types = config.find({"layer_types"})) {
        if (!types->is_array() || n >= types->size() || !(*types)[n].is_string()) {
            config.refuse("layer_types does not say what layer " + std::to_string(n) + " is");
        }
        return (*types)[n].get<std::string>() == "sliding_attention";
    }
    switch (family) {
        case Family::gemma2:
        case Family::gpt_oss:
            return n % 2 == 0;
        case Family::gemma3:
            return (n + 1) % config.size({"sliding_window_pattern"}, 6) != 0;
        case Family::qwen2:
        case Family::qwen3:
            return config.flag("use_sliding_window", false) &&
                   n >= config.size({"max_window_layers"}, 28);
        default:
            return true;
    }
}

/// The scaling that the configuration asks for.
std::optional<RopeScaling> scaling_in(const Config& config) {
    const Config scaling = config.part({"rope_scaling", "rope_parameters"});
    const std::string type = scaling.word({"rope_type", "type"}, "default");
    using Kind = RopeScaling::Kind;
    RopeScaling made;
    made.factor = scaling.number({"factor"}, 1);
    made.length = scaling.number({"original_max_position_embeddings"},
                                 config.number({"original_max_position_embeddings"}, 0));
    const bool long_rope = type == "longrope" || type == "su";
    if (long_rope && made.length > 0 && scaling.find({"factor"}) == nullptr) {
        made.factor = config.number({"max_position_embeddings"}, made.length) / made.length;
    }
    if (made.factor < 1) config.refuse("the factor of rope_scaling is below 1");
    if (type == "default" || type == "dynamic") return {};  // dynamic begins beyond most_tokens
    if (type != "linear" && made.length <= 0) {
        config.refuse("rope_scaling lacks original_max_position_embeddings");
    }
    if (type == "linear") {
        made.kind = Kind::linear;
    } else if (type == "llama3") {
        made.kind = Kind::llama3;
        made.low = scaling.number({"low_freq_factor"}, 1);
        made.high = scaling.number({"high_freq_factor"}, 4);
    } else if (type == "yarn") {
        made.kind = Kind::yarn;
        made.beta_slow = scaling.number({"beta_slow"}, 1);
        made.beta_fast = scaling.number({"beta_fast"}, 32);
        made.truncate = scaling.flag("truncate", true);
        const auto given = [&](const char* key) -> std::optional<double> {
            if (scaling.find({key}) == nullptr) return std::nullopt;
            return scaling.number({key}, 1);
        };
        made.attention_factor = given("attention_factor");
        made.mscale = given("mscale");
        made.mscale_all_dim = given("mscale_all_dim");
    } else if (long_rope) {
        made.kind = Kind::longrope;
        made.short_factors = scaling.numbers("short_factor");
        made.long_factors = scaling.numbers("long_factor");
        if (made.length <= 1) config.refuse("original_max_position_embeddings is 1");
        if (scaling.find({"attention_factor"}) != nullptr) {
            made.attention_factor = scaling.number({"attention_factor"}, 1);
        }
    } else {
        config.refuse("the rope_scaling " + shown(type) + " is not known here");
    }
    return made;
}

void set_layers(const Config& config, Family family, Architecture& made) {
    const std::size_t layers = config.size({"num_hidden_layers", "n_layer"});
    constexpr std::size_t most_layers = 1000;
    constexpr std::size_t widest_head = 8192;
    if (layers > most_layers || made.head_dim > widest_head) {
        config.refuse("no model has " + std::to_string(layers) + " layers with heads of " +
                      std::to_string(made.head_dim) + " features");
    }
    const bool rotates = family != Family::gpt2 && family != Family::bert;
    const std::size_t window = config.find({"sliding_window"}) != nullptr
                                   ? config.size({"sliding_window"})
                                   : std::size_t{0};
    const double partial =
        config.number({"partial_rotary_factor", "rotary_pct"}, family == Family::neox  ? 0.25
                                                               : family == Family::phi ? 0.5
                                                                                       : 1.0);
    const auto dim = static_cast<std::size_t>(static_cast<double>(made.head_dim) * partial);
    const double theta =
        config.number({"rope_theta", "rotary_emb_base"},
                      config.part({"rope_parameters"}).number({"rope_theta"}, 10000));
    if (rotates && (dim < 2 || dim > made.head_dim || !(theta > 0) || dim % 2 != 0)) {
        config.refuse("rope_theta or partial_rotary_factor cannot be");
    }
    LayerKind usual;
    const std::optional<RopeScaling> scaling = scaling_in(config);
    if (scaling && scaling->kind == RopeScaling::Kind::longrope) {
        for (const auto* list : {&scaling->short_factors, &scaling->long_factors}) {
            if (list->size() != dim / 2) config.refuse("rope_scaling lacks a factor for each pair");
        }
        // Longer inputs take the other list.
        made.most_tokens = std::min(made.most_tokens, static_cast<std::size_t>(scaling->length));
    }
    if (rotates) usual = rotating_layer(Pairing::half, theta, dim, scaling);
    LayerKind sliding = usual;
    if (family == Family::gemma3) {
        sliding =
            rotating_layer(Pairing::half, config.number({"rope_local_base_freq"}, 10000), dim);
    }
    if (window > 0) sliding.window = window;
    const bool may_slide = window > 0 || family == Family::gemma3;
    for (std::size_t n = 0; n < layers; ++n) {
        made.layers.push_back(may_slide && slides(config, family, n) ? sliding : usual);
    }
}

void set_sizes(const Config& config, Architecture& made) {
    made.embed_dim = config.size({"hidden_size", "n_embd"});
    made.mlp_dim = config.size({"intermediate_size", "n_inner"}, 4 * made.embed_dim);
    made.heads = config.size({"num_attention_heads", "n_head"});
    made.kv_heads = config.size({"num_key_value_heads"}, made.heads);
    made.head_dim =
        config.size({"head_dim"}, std::max<std::size_t>(1, made.embed_dim / made.heads));
    made.vocab_size = config.size({"vocab_size"});
    made.most_tokens = config.size({"max_position_embeddings", "n_positions", "n_ctx"}, 2048);
    if (made.heads % made.kv_heads != 0) {
        config.refuse("num_key_value_heads " + std::to_string(made.kv_heads) +
                      " does not divide num_attention_heads " + std::to_string(made.heads));
    }
}

}  // namespace

Family family_in(const Json& config, const std::string& label) {
    const std::string word = Config(config, label).word({"model_type"}, "");
    std::vector<std::string> known;
    for (const auto& [each, family] : family_words) {
        if (each == word) return family;
        known.emplace_back(each);
    }
    throw InputError(label + ": the model_type " + shown(word) +
                     " is not known here: give a model of " + joined(known));
}

Architecture architecture_of(const Json& json, Family family, const std::string& label) {
    const Config config(json, label);
    Architecture made;
    made.family = config.word({"model_type"}, "");
    set_sizes(config, made);
    set_layers(config, family, made);
    const bool gemma = family == Family::gemma2 || family == Family::gemma3;
    const bool layer_norm = family == Family::phi || family == Family::neox ||
                            family == Family::gpt2 || family == Family::bert;
    made.norm = layer_norm ? NormKind::layer : NormKind::rms;
    made.norm_eps = config.number({"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"},
                                  family == Family::bert ? 1e-12
                                  : layer_norm           ? 1e-5
                                                         : 1e-6);
    made.norm_adds_one = gemma;
    if (family == Family::gpt_oss) {
        made.experts = config.size({"num_local_experts"});
        made.experts_per_token = config.size({"num_experts_per_tok", "experts_per_token"}, 4);
        made.experts_limit = config.number({"swiglu_limit"}, 7);
        if (made.experts_per_token > made.experts) {
            config.refuse("num_experts_per_tok asks for more than num_local_experts");
        }
    }
    made.activation = activation_in(config, gemma || family == Family::gpt2 ? "gelu_pytorch_tanh"
                                            : family == Family::phi         ? "gelu_new"
                                            : layer_norm                    ? "gelu"
                                                                            : "silu");
    if (family == Family::olmo2) made.qk_norm = NormOver::all;
    if (family == Family::qwen3 || family == Family::gemma3) made.qk_norm = NormOver::head;
    const double width =
        gemma ? config.number({"query_pre_attn_scalar"}, 256) : static_cast<double>(made.head_dim);
    made.scale = 1 / std::sqrt(width);
    if (gemma) made.embedding_scale = std::sqrt(static_cast<double>(made.embed_dim));
    made.attention_softcap = config.number({"attn_logit_softcapping"}, 0);
    made.logit_softcap = config.number({"final_logit_softcapping"}, 0);
    made.causal = family != Family::bert;
    made.parallel = family == Family::phi ||
                    (family == Family::neox && config.flag("use_parallel_residual", true));
    made.norm_after_sum = family == Family::bert;
    if (const Json* end = config.find({"eos_token_id"})) {
        for (const Json& id : end->is_array() ? *end : Json::array({*end})) {
            if (id.is_number_integer()) made.end_ids.push_back(id.get<std::int64_t>());
        }
    }
    return made;
}

}  // namespace attn::models
