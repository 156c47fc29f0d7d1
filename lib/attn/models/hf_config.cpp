#include <algorithm>
#include <cmath>

#include "attn/models/hf_config.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

Activation activation_in(const Config& config, const Family& family) {
    const std::string key = family.facts.word({"activation"}, "hidden_act");
    const std::string default_value = family.facts.part("defaults").word({key.c_str()}, "");
    const std::string word = config.word({key.c_str()}, default_value);
    if (word == "silu" || word == "swish") return Activation::silu;
    if (word == "gelu" || word == "gelu_python") return Activation::gelu;
    if (word == "gelu_new" || word == "gelu_fast" || word == "gelu_pytorch_tanh") {
        return Activation::gelu_tanh;
    }
    config.not_known("the activation " + quoted_text(word) + " is not known here");
}

/// True if layer n is "local" in GPT-Neo's attention_types: pairs of words and repeat counts.
bool is_listed_local(const Config& config, std::size_t n) {
    const Json* types = config.find({"attention_types"});
    if (types == nullptr) return n % 2 == 1;
    std::vector<bool> local;
    for (const Json& each : *types) {
        const bool known = each.is_array() && each.size() == 2 && each[0].is_array() &&
                           each[1].is_number_unsigned() && each[1] < 1000U;
        if (!known) config.refuse("attention_types is not a list of words with counts");
        for (std::size_t times = each[1]; times > 0; --times) {
            for (const Json& word : each[0]) local.push_back(word == "local");
        }
    }
    if (n >= local.size()) config.refuse("attention_types is shorter than the model has layers");
    return local[n];
}

/// True if layer n has no rotation, in families with such layers.
bool rests(const Config& config, std::size_t n) {
    const Json* layers = config.find({"no_rope_layers"});
    if (layers == nullptr || layers->empty()) {
        return (n + 1) % config.size({"no_rope_layer_interval"}, 4) == 0;
    }
    const Json turns = layers->is_array() && n < layers->size() ? (*layers)[n] : Json();
    if (turns != 0 && turns != 1) {
        config.refuse("no_rope_layers has neither 1 nor 0 for layer " + std::to_string(n));
    }
    return turns == 0;
}

/// True if layer n has a sliding window in the family's class.
bool slides_by_itself(const Config& config, const Family& family, std::size_t window,
                      std::size_t n) {
    const std::string which = family.facts.word({"sliding"}, "all");
    if (which == "even") return n % 2 == 0;
    if (which == "listed") return is_listed_local(config, n);
    if (which == "resting") return window > 0 && rests(config, n);
    if (which == "pattern") return (n + 1) % config.size({"sliding_window_pattern"}, 6) != 0;
    return window > 0 &&
           (which == "all" || static_cast<double>(n) >= config.number({"max_window_layers"}, 28));
}

/// True if layer n has a sliding window, by the configuration or the class. Some classes ignore the
/// configuration, which must then agree with them.
bool slides(const Config& config, const Family& family, std::size_t window, std::size_t n) {
    const Json* types = config.find({"layer_types"});
    bool slides = slides_by_itself(config, family, window, n);
    if (types != nullptr) {
        const Json type = types->is_array() && n < types->size() ? (*types)[n] : Json();
        const bool specified = type == "sliding_attention";
        if (!specified && type != "full_attention") {
            config.not_known(
                "layer_types has neither sliding_attention nor full_attention for layer " +
                std::to_string(n));
        }
        if (!family.is("reads_layer_types") && specified != slides) {
            config.not_known("layer_types contradicts the attention of such a model");
        }
        slides = specified;
    }
    if (slides && window == 0)
        config.refuse("a layer has a sliding window, but sliding_window is missing");
    return slides;
}

/// Returns the number of visible keys in a sliding layer; 0 if there are no such layers. Other
/// classes ignore sliding_window.
std::size_t window_in(const Config& config, const Family& family) {
    const bool has = family.is("reads_window") && config.find({"sliding_window"}) != nullptr;
    const bool asks = family.facts.part("defaults").find({"use_sliding_window"}) != nullptr;
    if (!has || (asks && !config.flag("use_sliding_window", false))) return 0;
    return config.size({"sliding_window"});
}

/// Returns the rotation settings of a kind of layer: from rope_parameters, in some models by kind,
/// or from the older rope_scaling.
Config rope_in(const Config& config, const Family& family, const char* kind) {
    const Config older = config.part("rope_scaling");
    const Config newer = config.part("rope_parameters");
    if (!older.empty() && !newer.empty() && !(older == newer)) {
        config.refuse("rope_scaling and rope_parameters are both given, and differ");
    }
    const bool by_kind = newer.find({"full_attention", "sliding_attention"}) != nullptr;
    const bool local = family.is("rope_by_kind") && std::string_view(kind) == "sliding_attention";
    const bool either = family.is("scales_full_layers_alone");
    if (by_kind != family.is("rope_by_kind") && !newer.empty() && !either) {
        config.refuse(std::string("rope_parameters are ") + (by_kind ? "" : "not ") +
                      "given by kind of layer, unlike those of such models");
    }
    if (by_kind) return newer.part(kind);
    if (local) return newer.with(Json{{"rope_theta", newer.json().value("rope_theta", Json())}});
    return newer.empty() ? older : newer;
}

/// Reads a number that is in the rotation settings or next to them, under other names; both must
/// agree.
double agreed(const Config& config, const Config& rope, const char* key,
              std::initializer_list<const char*> beside, double default_value) {
    const double outer = config.number(beside, default_value);
    const double inner = rope.number({key}, outer);
    if (inner != outer && config.find(beside) != nullptr) {
        config.refuse(std::string(*beside.begin()) + " is given twice, with different values");
    }
    return inner;
}

/// Returns the frequency scaling of the configuration.
std::optional<RopeScaling> scaling_in(const Config& config, const Config& scaling) {
    const std::string type = scaling.word({"rope_type", "type"}, "default");
    if (type == "default") return {};
    constexpr std::string_view known[]{"linear", "dynamic", "llama3", "yarn", "longrope", "su"};
    if (std::find(std::begin(known), std::end(known), type) == std::end(known)) {
        config.not_known("the rope_scaling " + quoted_text(type) + " is not known here");
    }
    using Kind = RopeScaling::Kind;
    RopeScaling result;
    result.length = scaling.number({"original_max_position_embeddings"},
                                   config.number({"original_max_position_embeddings"}, 0));
    const bool long_rope = type == "longrope" || type == "su";
    if (long_rope && result.length > 0) {
        result.factor = config.number({"max_position_embeddings"}, result.length) / result.length;
    }
    if (!long_rope || result.length <= 0 || scaling.find({"factor"}) != nullptr) {
        const double factor = scaling.number({"factor"});
        if (long_rope && result.length > 0 && factor != result.factor) {
            config.refuse("the factor of rope_scaling is not that of the two lengths");
        }
        result.factor = factor;
    }
    if (result.factor < 1) config.refuse("the factor of rope_scaling is below 1");
    if (type == "dynamic") return {};  // takes effect only beyond most_tokens
    if (type != "linear" && result.length <= 0) {
        config.refuse("rope_scaling lacks original_max_position_embeddings");
    }
    if (type == "linear") {
        result.kind = Kind::linear;
    } else if (type == "llama3") {
        result.kind = Kind::llama3;
        result.low = scaling.number({"low_freq_factor"});
        result.high = scaling.number({"high_freq_factor"});
    } else if (type == "yarn") {
        result.kind = Kind::yarn;
        result.beta_slow = scaling.number({"beta_slow"}, 1);
        result.beta_fast = scaling.number({"beta_fast"}, 32);
        result.truncate = scaling.flag("truncate", true);
        const auto given = [&](const char* key) -> std::optional<double> {
            if (scaling.find({key}) == nullptr) return std::nullopt;
            return scaling.number({key}, 1);
        };
        result.attention_factor = given("attention_factor");
        result.mscale = given("mscale");
        result.mscale_all_dim = given("mscale_all_dim");
    } else {
        result.kind = Kind::longrope;
        result.short_factors = scaling.numbers("short_factor");
        result.long_factors = scaling.numbers("long_factor");
        if (result.length <= 1) config.refuse("original_max_position_embeddings is 1");
        if (scaling.find({"attention_factor"}) != nullptr) {
            result.attention_factor = scaling.number({"attention_factor"}, 1);
        }
    }
    return result;
}

/// Returns the rotation of queries and keys in a kind of layer.
LayerKind rotation_in(const Config& config, const Family& family, const char* kind,
                      Architecture& result) {
    const Config rope = rope_in(config, family, kind);
    const bool local = family.is("rope_by_kind") && !family.is("scales_full_layers_alone") &&
                       std::string_view(kind) == "sliding_attention";
    const double default_value = family.facts.number({"theta"}, 10000);
    const double theta = local ? agreed(config, rope, "rope_theta", {"rope_local_base_freq"}, 10000)
                               : agreed(config, rope, "rope_theta",
                                        {"rope_theta", "rotary_emb_base"}, default_value);
    const double partial =
        agreed(config, rope, "partial_rotary_factor", {"partial_rotary_factor", "rotary_pct"},
               family.facts.number({"partial"}, 1));
    const bool by_size = family.facts.part("defaults").find({"rotary_dim"}) != nullptr;
    const auto dim = by_size
                         ? config.size({"rotary_dim"})
                         : static_cast<std::size_t>(static_cast<double>(result.head_dim) * partial);
    if (dim < 2 || dim > result.head_dim || !(theta > 0) || dim % 2 != 0 ||
        (!family.is("part_rotates") && partial != 1)) {
        config.refuse("rope_theta or partial_rotary_factor is impossible");
    }
    const std::optional<RopeScaling> scaling = scaling_in(config, rope);
    if (rope.word({"rope_type", "type"}, "") == "dynamic") {
        result.most_tokens =
            std::min(result.most_tokens,
                     rope.size({"original_max_position_embeddings"}, result.most_tokens));
    }
    if (scaling && scaling->kind == RopeScaling::Kind::longrope) {
        for (const auto* list : {&scaling->short_factors, &scaling->long_factors}) {
            if (list->size() != dim / 2) config.refuse("rope_scaling lacks a factor for each pair");
        }
        // Longer inputs would use the other list.
        result.most_tokens =
            std::min(result.most_tokens, static_cast<std::size_t>(scaling->length));
    }
    const Pairing pairing = family.is("neighbours") ? Pairing::interleaved : Pairing::half;
    return {.pairing = pairing, .theta = theta, .scaling = scaling, .rotary_dim = dim};
}

void set_layers(const Config& config, const Family& family, Architecture& result) {
    const std::size_t layers = config.size({"num_hidden_layers", "n_layer"});
    constexpr std::size_t most_layers = 1000;
    constexpr std::size_t widest_head = 8192;
    if (layers > most_layers || result.head_dim > widest_head) {
        config.refuse("no model has " + std::to_string(layers) + " layers with heads of " +
                      std::to_string(result.head_dim) + " features");
    }
    const std::size_t window = window_in(config, family);
    LayerKind default_value, sliding;
    if (family.facts.flag("rotates", true)) {
        default_value = rotation_in(config, family, "full_attention", result);
        sliding = rotation_in(config, family, "sliding_attention", result);
    }
    sliding.window = window;
    const bool shrinks = config.flag("scale_attn_by_inverse_layer_idx", false);
    const bool some_rest = family.facts.word({"sliding"}, "") == "resting";
    for (std::size_t n = 0; n < layers; ++n) {
        result.layers.push_back(slides(config, family, window, n) ? sliding : default_value);
        if (some_rest && rests(config, n)) result.layers.back().pairing.reset();
        if (shrinks) result.layers.back().scale /= static_cast<double>(n + 1);
    }
}

void set_sizes(const Config& config, const Family& family, Architecture& result) {
    result.embed_dim = config.size({"hidden_size", "n_embd"});
    const std::string mlp_dim = family.facts.word({"mlp_dim"}, "");
    result.mlp_dim = mlp_dim.empty()
                         ? config.size({"intermediate_size", "n_inner"}, 4 * result.embed_dim)
                         : config.size({mlp_dim.c_str()});
    result.heads = config.size({"num_attention_heads", "n_head"});
    const bool decides = family.facts.find({"kv_heads"}) != nullptr;
    result.kv_heads = decides ? family.facts.size({"kv_heads"})
                              : config.size({"num_key_value_heads"}, result.heads);
    result.head_dim =
        config.size({"head_dim"}, std::max<std::size_t>(1, result.embed_dim / result.heads));
    result.vocab_size = config.size({"vocab_size"});
    result.most_tokens =
        config.size({"max_position_embeddings", "n_positions", "n_ctx", "block_size"}, 2048);
    if (family.is("positions_behind_padding")) {
        const double padding = config.number({"pad_token_id"});
        if (padding < 0 || padding + 1 >= static_cast<double>(result.most_tokens)) {
            config.refuse("pad_token_id leaves no row of positions");
        }
        result.first_position = static_cast<std::size_t>(padding) + 1;
        result.most_tokens -= result.first_position;
    }
    if (result.heads % result.kv_heads != 0) {
        config.refuse("num_key_value_heads " + std::to_string(result.kv_heads) +
                      " does not divide num_attention_heads " + std::to_string(result.heads));
    }
}

}  // namespace

Architecture architecture_of(const Config& specified, const Family& family) {
    const Config config = completed(specified, family);
    Architecture result;
    result.family = family.word;
    set_sizes(config, family, result);
    set_layers(config, family, result);
    const bool gemma = family.is("gemma");
    const std::string eps = family.facts.word({"eps"}, "rms_norm_eps");
    result.norm = eps == "rms_norm_eps" ? NormKind::rms : NormKind::layer;
    result.norm_eps = config.number({eps.c_str()});
    if (result.norm_eps < 0) config.refuse(eps + " is below 0");
    result.norm_adds_one = gemma;
    if (family.is("experts")) {
        result.experts = config.size({"num_local_experts"});
        result.experts_per_token = config.size({"num_experts_per_tok"});
        result.shares_of_chosen = config.flag("norm_topk_prob", true);
        if (family.is("clamps_experts"))
            result.experts_limit = config.above_zero("swiglu_limit", 7);
        if (result.experts_per_token > result.experts) {
            config.refuse("num_experts_per_tok is larger than num_local_experts");
        }
    }
    result.activation = activation_in(config, family);
    const bool decides = family.facts.find({"attention_bias"}) != nullptr;
    result.attention_bias = (decides ? family.facts : config).flag("attention_bias", false);
    result.mlp_bias = family.is("mlp_bias") && config.flag("mlp_bias", false);
    result.tied = config.flag("tie_word_embeddings", false);
    const std::string over = family.facts.word({"qk_norm"}, "");
    if (!over.empty()) result.qk_norm = over == "all" ? NormOver::all : NormOver::head;
    const auto head_dim = static_cast<double>(result.head_dim);
    const Config default_value = family.facts.part("defaults");
    const bool by_scalar = default_value.find({"query_pre_attn_scalar"}) != nullptr;
    const double width = by_scalar ? config.above_zero("query_pre_attn_scalar", 256) : head_dim;
    result.scale = config.flag("scale_attn_weights", true) ? 1 / std::sqrt(width) : 1;
    result.scale =
        family.facts.number({"scale"}, config.number({"attention_multiplier"}, result.scale));
    result.embedding_scale = gemma ? std::sqrt(static_cast<double>(result.embed_dim))
                                   : config.number({"embedding_multiplier"}, 1);
    result.residual_scale = config.number({"residual_multiplier"}, 1);
    result.logit_scale = config.number({"logit_scale"}, 1) / config.above_zero("logits_scaling", 1);
    result.alibi = family.is("alibi");
    result.attention_softcap = config.above_zero("attn_logit_softcapping", 0);
    result.logit_softcap = config.above_zero("final_logit_softcapping", 0);
    result.parallel =
        family.is("parallel") ||
        config.flag("use_parallel_residual", default_value.flag("use_parallel_residual", false));
    result.norm_after_sum = family.is("encodes");
    result.causal = !result.norm_after_sum;
    const Json* begin = config.find({"bos_token_id"});
    if (begin != nullptr && begin->is_number_integer())
        result.begin_id = begin->get<std::int64_t>();
    if (const Json* end = config.find({"eos_token_id"})) {
        for (const Json& id : end->is_array() ? *end : Json::array({*end})) {
            if (!id.is_number_integer()) config.refuse("eos_token_id is not a token id");
            result.end_ids.push_back(id.get<std::int64_t>());
        }
    }
    return result;
}

}  // namespace attn::models
