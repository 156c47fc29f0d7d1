#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/models/hf_config.hpp"
#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

constexpr Lies transposed{.columns = true};
constexpr Lies rows_in(Part part) { return {.part = part}; }
constexpr Lies columns_of(Part part) { return {.part = part, .columns = true}; }
constexpr Lies of_heads(Part part) { return {.part = part, .by_head = true}; }
constexpr Lies of_experts{.experts = true};

constexpr Name attention[] = {{"w_query", "self_attn.q_proj", {}, Bias::attention},
                              {"w_key", "self_attn.k_proj", {}, Bias::attention},
                              {"w_value", "self_attn.v_proj", {}, Bias::attention}};
constexpr Name gated_mlp[] = {{"w_gate", "mlp.gate_proj", {}, Bias::mlp},
                              {"w_up", "mlp.up_proj", {}, Bias::mlp},
                              {"w_down", "mlp.down_proj", {}, Bias::mlp}};
constexpr Name output_projection[] = {{"w_output", "self_attn.o_proj", {}, Bias::attention}};
constexpr Name output_without_bias[] = {{"w_output", "self_attn.o_proj"}};
constexpr Name llama_norms[] = {{"g_attention", "input_layernorm"},
                                {"g_mlp", "post_attention_layernorm"}};
constexpr Name qk_norms[] = {{"g_query", "self_attn.q_norm"}, {"g_key", "self_attn.k_norm"}};
constexpr Name four_norms[] = {{"g_attention", "input_layernorm"},
                               {"g_attention_output", "post_attention_layernorm"},
                               {"g_mlp", "pre_feedforward_layernorm"},
                               {"g_mlp_output", "post_feedforward_layernorm"}};
constexpr Name post_norms[] = {four_norms[1], four_norms[3]};
constexpr Name sinks[] = {{"sink", "self_attn.sinks", {}, Bias::whole}};
constexpr Name experts[] = {{"w_router", "mlp.router", {}, Bias::always},
                            {"w_experts_up", "mlp.experts.gate_up_proj", of_experts, Bias::whole},
                            {"b_experts_up", "mlp.experts.gate_up_proj_bias", {}, Bias::whole},
                            {"w_experts_down", "mlp.experts.down_proj", of_experts, Bias::whole},
                            {"b_experts_down", "mlp.experts.down_proj_bias", {}, Bias::whole}};
constexpr Name llama_outside[] = {
    {"embedding", "embed_tokens"}, {"g_final", "norm"}, {"w_vocab", "lm_head"}};

constexpr Name gpt2_outside[] = {{"embedding", "wte"},
                                 {"position_embedding", "wpe"},
                                 {"g_final", "ln_f", {}, Bias::always},
                                 {"w_vocab", "lm_head"}};
constexpr Name gpt2_inside[] = {{"g_attention", "ln_1", {}, Bias::always},
                                {"w_query", "attn.c_attn", columns_of(Part::query), Bias::always},
                                {"w_key", "attn.c_attn", columns_of(Part::key), Bias::always},
                                {"w_value", "attn.c_attn", columns_of(Part::value), Bias::always},
                                {"w_output", "attn.c_proj", transposed, Bias::always},
                                {"g_mlp", "ln_2", {}, Bias::always},
                                {"w_up", "mlp.c_fc", transposed, Bias::always},
                                {"w_down", "mlp.c_proj", transposed, Bias::always}};

// BERT adds the row of token type 0 to the row of every position.
constexpr Name bert_outside[] = {{"embedding", "embeddings.word_embeddings"},
                                 {"position_embedding",
                                  "embeddings.position_embeddings",
                                  {},
                                  Bias::none,
                                  "embeddings.token_type_embeddings.weight"},
                                 {"g_embedding", "embeddings.LayerNorm", {}, Bias::always}};
constexpr Name bert_inside[] = {
    {"w_query", "attention.self.query", {}, Bias::always},
    {"w_key", "attention.self.key", {}, Bias::always},
    {"w_value", "attention.self.value", {}, Bias::always},
    {"w_output", "attention.output.dense", {}, Bias::always},
    {"g_attention_output", "attention.output.LayerNorm", {}, Bias::always},
    {"w_up", "intermediate.dense", {}, Bias::always},
    {"w_down", "output.dense", {}, Bias::always},
    {"g_mlp_output", "output.LayerNorm", {}, Bias::always}};

constexpr Name neox_outside[] = {{"embedding", "embed_in"},
                                 {"g_final", "final_layer_norm", {}, Bias::always},
                                 {"w_vocab", "embed_out"}};
constexpr Name neox_inside[] = {
    {"g_attention", "input_layernorm", {}, Bias::always},
    {"w_query", "attention.query_key_value", of_heads(Part::query), Bias::attention},
    {"w_key", "attention.query_key_value", of_heads(Part::key), Bias::attention},
    {"w_value", "attention.query_key_value", of_heads(Part::value), Bias::attention},
    {"w_output", "attention.dense", {}, Bias::attention},
    {"g_mlp", "post_attention_layernorm", {}, Bias::always},
    {"w_up", "mlp.dense_h_to_4h", {}, Bias::always},
    {"w_down", "mlp.dense_4h_to_h", {}, Bias::always}};

constexpr Name phi_outside[] = {{"embedding", "embed_tokens"},
                                {"g_final", "final_layernorm", {}, Bias::always},
                                {"w_vocab", "lm_head", {}, Bias::always}};
constexpr Name phi_inside[] = {{"w_output", "self_attn.dense", {}, Bias::always},
                               {"g_attention", "input_layernorm", {}, Bias::always},
                               {"g_mlp", "input_layernorm", {}, Bias::always},
                               {"w_up", "mlp.fc1", {}, Bias::always},
                               {"w_down", "mlp.fc2", {}, Bias::always}};

constexpr Name phi3_inside[] = {{"w_query", "self_attn.qkv_proj", rows_in(Part::query)},
                                {"w_key", "self_attn.qkv_proj", rows_in(Part::key)},
                                {"w_value", "self_attn.qkv_proj", rows_in(Part::value)},
                                {"w_gate", "mlp.gate_up_proj", rows_in(Part::gate)},
                                {"w_up", "mlp.gate_up_proj", rows_in(Part::up)},
                                {"w_down", "mlp.down_proj"}};

}  // namespace

Names names_of(Family family) {
    const auto like_llama = [](std::vector<std::span<const Name>> more) -> Names {
        more.insert(more.begin(), {attention, output_projection});
        return {"layers.", llama_outside, std::move(more)};
    };
    switch (family) {
        case Family::llama:
        case Family::mistral:
            return like_llama({llama_norms, gated_mlp});
        case Family::qwen2:
            return {
                "layers.", llama_outside, {attention, output_without_bias, llama_norms, gated_mlp}};
        case Family::qwen3:
            return like_llama({llama_norms, qk_norms, gated_mlp});
        case Family::gemma2:
            return like_llama({four_norms, gated_mlp});
        case Family::gemma3:
            return like_llama({four_norms, qk_norms, gated_mlp});
        case Family::olmo2:
            return like_llama({post_norms, qk_norms, gated_mlp});
        case Family::gpt_oss:
            return like_llama({llama_norms, experts, sinks});
        case Family::phi:
            return {"layers.", phi_outside, {attention, phi_inside}};
        case Family::phi3:
            return {"layers.", llama_outside, {phi3_inside, output_without_bias, llama_norms}};
        case Family::neox:
            return {"layers.", neox_outside, {neox_inside}};
        case Family::gpt2:
            return {"h.", gpt2_outside, {gpt2_inside}};
        case Family::bert:
            break;
    }
    return {"encoder.layer.", bert_outside, {bert_inside}};
}

std::string name_in(Family family, std::string_view ours) {
    Names names = names_of(family);
    names.inside.push_back(names.outside);
    for (const std::span<const Name> part : names.inside) {
        for (const Name& name : part) {
            if (name.ours == ours) return name.named(".weight");
        }
    }
    return {};
}

namespace {

/// (expert, in, out) as (expert, out, in).
Tensor transposed_each(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    if (shape.size() != 3) return tensor;
    const std::size_t area = shape[1] * shape[2];
    return strided(tensor, {shape[0], shape[2], shape[1]}, {area, 1, shape[2]});
}

/// Numbers of 4 bits, a sign, 2 bits of exponent and 1 of mantissa, each block with a power of two:
/// blocks (expert, out, block, byte), the low half of a byte first; scales (expert, out, block).
Tensor unpacked(const Tensor& blocks, const Tensor& scales) {
    static constexpr std::array<float, 8> sizes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    constexpr int exponent_of_one = 127;
    const Shape shape = blocks.shape();
    if (shape.size() != 4 || blocks.dtype() != DType::int64 || scales.dtype() != DType::int64 ||
        scales.shape() != Shape(shape.begin(), shape.end() - 1)) {
        return blocks;
    }
    Array<float> numbers = empty_array<float>({shape[0], shape[1], 2 * shape[2] * shape[3]});
    const auto& bytes = blocks.as<std::int64_t>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(bytes.data()[i / 2]);
        const std::uint64_t code = (i % 2 == 0 ? byte : byte >> 4U) & 15U;
        const std::int64_t scale = scales.as<std::int64_t>().data()[i / 2 / shape[3]];
        const float size = std::ldexp(sizes[code & 7U], static_cast<int>(scale) - exponent_of_one);
        numbers.data()[i] = code < 8 ? size : -size;
    }
    return {numbered_axes(3), std::move(numbers)};
}

}  // namespace

StoredArray transposed_experts(const StoredArray& plain) {
    const Shape& s = plain.shape;
    return {plain.name,
            [plain] {
                return NamedTensor{plain.name, transposed_each(plain.read().tensor)};
            },
            [plain](const std::vector<std::size_t>& rows) {
                return NamedTensor{plain.name, transposed_each(plain.read_rows(rows).tensor)};
            },
            s.size() == 3 ? Shape{s[0], s[2], s[1]} : s};
}

std::optional<StoredArray> unpacked_experts(const StoredArray* blocks, const StoredArray* scales) {
    if (blocks == nullptr || scales == nullptr) return std::nullopt;
    const Shape& s = blocks->shape;
    return StoredArray{blocks->name,
                       [b = *blocks, of = *scales] {
                           return NamedTensor{b.name, unpacked(b.read().tensor, of.read().tensor)};
                       },
                       [b = *blocks, of = *scales](const std::vector<std::size_t>& rows) {
                           return NamedTensor{b.name, unpacked(b.read_rows(rows).tensor,
                                                               of.read_rows(rows).tensor)};
                       },
                       s.size() == 4 ? Shape{s[0], s[1], 2 * s[2] * s[3]} : s};
}

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
