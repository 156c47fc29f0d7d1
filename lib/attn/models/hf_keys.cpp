#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

/// What the configuration classes take for keys that a file leaves out; null: nothing, but they
/// read it.
constexpr const char* defaults_of_all = R"({"rms_norm_eps": 1e-6, "layer_norm_eps": 1e-5,
    "hidden_act": "silu", "tie_word_embeddings": false})";
constexpr const char* defaults_of_gemma =
    R"({"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096,
    "query_pre_attn_scalar": 256, "final_logit_softcapping": null, "tie_word_embeddings": true,
    "hidden_activation": "gelu_pytorch_tanh"})";
constexpr std::pair<Family, const char*> defaults[]{
    {Family::mistral, R"({"num_key_value_heads": 8, "sliding_window": 4096})"},
    {Family::qwen2, R"({"num_key_value_heads": 32, "sliding_window": 4096})"},
    {Family::qwen3, R"({"num_key_value_heads": 32, "head_dim": 128, "sliding_window": 4096})"},
    {Family::gemma2, defaults_of_gemma},
    {Family::gemma2, R"({"vocab_size": 256000, "max_position_embeddings": 8192,
        "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})"},
    {Family::gemma3, defaults_of_gemma},
    {Family::gemma3, R"({"vocab_size": 262208, "max_position_embeddings": 131072})"},
    {Family::olmo2, R"({"rms_norm_eps": 1e-5})"},
    {Family::phi, R"({"hidden_act": "gelu_new", "partial_rotary_factor": null})"},
    {Family::phi3, R"({"rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
        "original_max_position_embeddings": 4096, "partial_rotary_factor": null})"},
    {Family::neox, R"({"hidden_act": "gelu", "attention_bias": true, "rotary_pct": null,
        "partial_rotary_factor": null, "use_parallel_residual": true})"},
    {Family::gpt2, R"({"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "n_positions": 1024, "tie_word_embeddings": true, "scale_attn_weights": true,
        "scale_attn_by_inverse_layer_idx": false})"},
    {Family::bert, R"({"hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512})"},
    {Family::gpt_oss, R"({"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "rms_norm_eps": 1e-5, "max_position_embeddings": 131072, "sliding_window": 128,
        "attention_bias": true, "num_local_experts": 128})"},
};

/// Keys that change what a model computes, with the values that change nothing beside null. Those
/// among the defaults of a family are read there, and may have any value.
constexpr const char* neutral_values = R"({
    "attn_logit_softcapping": [], "final_logit_softcapping": [], "query_pre_attn_scalar": [],
    "partial_rotary_factor": [1], "rotary_pct": [1], "rotary_dim": [],
    "use_parallel_residual": [false], "parallel_attn": [false], "scale_attn_weights": [true],
    "scale_attn_by_inverse_layer_idx": [false], "use_bidirectional_attention": [false],
    "position_embedding_type": ["absolute", "rope"], "add_cross_attention": [false],
    "is_encoder_decoder": [false], "qk_layernorm": [false], "use_qk_norm": [false], "clip_qkv": [],
    "logit_scale": [1], "logits_scaling": [1], "lm_head_multiplier": [1],
    "embedding_multiplier": [1], "embedding_scale": [1], "scale_embedding": [false],
    "scale_emb": [1], "scale_depth": [], "dim_model_base": [], "residual_multiplier": [1],
    "residual_scale": [1], "attention_multiplier": [], "attention_scale": [],
    "key_multiplier": [1], "mup_attn_multiplier": [1], "mup_embedding_multiplier": [1],
    "mup_width_multiplier": [1], "mup_width_scale": [1], "alibi": [false], "use_alibi": [false],
    "rope_interleave": [false], "rope_interleaved": [false], "no_rope_layers": [[]],
    "no_rope_layer_interval": [], "nope_layer_interval": [], "attention_chunk_size": [],
    "attn_temperature_tuning": [false, 0]})";

/// How messages quote a value.
std::string dumped(const Json& value) {
    return visible(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// What of a configuration is not known here; empty: nothing.
std::string unknown_in(const Json& config, const Json& usual, Family family) {
    const std::string not_known = " and is not known here: give another model";
    if (family == Family::gpt_oss && !config.contains("rope_scaling") &&
        !config.contains("rope_parameters")) {
        return "lacks rope_scaling, for which the class of gpt_oss takes one of its own: write it "
               "into the file, null for none";
    }
    const Json neutral = Json::parse(neutral_values);
    for (const auto& [key, values] : neutral.items()) {
        const Json value = config.value(key, Json());
        if (value.is_null() || usual.contains(key)) continue;
        const bool changes_nothing = std::find(values.begin(), values.end(), value) != values.end();
        if (changes_nothing && (family != Family::bert || value != "rope")) continue;
        return key + " is " + dumped(value) + ", which changes what the model computes" + not_known;
    }
    const bool bert = family == Family::bert;
    if (bert && config.value("is_decoder", Json()) == true) return "is_decoder is true" + not_known;
    const Json heads = config.value("num_attention_heads", config.value("n_head", Json()));
    const Json groups = config.value("num_key_value_heads", Json());
    if ((bert || family == Family::gpt2 || family == Family::neox) && !groups.is_null() &&
        groups != heads) {
        return "num_key_value_heads is " + dumped(groups) + ", not that of all heads" + not_known;
    }
    const Json packed = config.value("quantization_config", Json());
    const Json method = packed.is_object() ? packed.value("quant_method", Json()) : packed;
    if (packed.is_null() || (family == Family::gpt_oss && method == "mxfp4")) return {};
    return "quantization_config says " + dumped(method) +
           ", whose tensors hold codes: give the model in float32, float16 or bfloat16";
}

}  // namespace

Json completed_config(const Json& config, Family family, const std::string& label) {
    Json all = Json::parse(defaults_of_all);
    for (const auto& [each, keys] : defaults) {
        if (each == family) all.update(Json::parse(keys));
    }
    if (const std::string unknown = unknown_in(config, all, family); !unknown.empty()) {
        throw InputError(label + ": " + unknown);
    }
    all.update(config);
    return all;
}

}  // namespace attn::models
