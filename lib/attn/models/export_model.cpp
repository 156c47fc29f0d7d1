#include "attn/models/open_model.hpp"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/hugging_face.hpp"

namespace attn::models {
namespace {

/// Refuses features that a Llama does not have.
void require_llama(const Model& model, const std::string& format) {
    const Architecture& a = model.architecture;
    std::string other;
    if (a.norm != NormKind::rms || a.norm_adds_one) other = "its norm";
    if (a.activation != Activation::silu || !model.has("0.w_gate")) other = "its MLP";
    if (a.attention_softcap > 0 || a.parallel || a.alibi) other = "its attention";
    const bool scales = a.embedding_scale != 1 || a.residual_scale != 1 || a.logit_scale != 1 ||
                        std::abs(a.scale * std::sqrt(static_cast<double>(a.head_dim)) - 1) > 1e-12;
    if (scales) other = "its factors";
    for (const LayerKind& kind : a.layers) {
        if (!kind.pairing || kind.scaling || kind.rotary_dim != a.head_dim ||
            kind.theta != a.layers.front().theta) {
            other = "its positions";
        }
        if (kind.window) other = "its attention";
    }
    model.vocabulary();
    for (const char* name : {"0.b_query", "0.b_output", "0.b_gate", "0.g_query", "0.sink",
                             "0.g_attention_output", "position_embedding"}) {
        if (model.has(name)) other = name;
    }
    if (other.empty()) return;
    throw ConfigError("$as "_message + format + " writes models like Llama, and " + model.label +
                      " differs in " + other + ": choose another model");
}

/// Reorders the rows of each head between halves and neighbours.
Tensor reordered(const Tensor& tensor, std::size_t head_dim, Pairing from, Pairing to) {
    std::vector<std::size_t> rows(tensor.shape()[0]);
    for (std::size_t head = 0; head < rows.size(); head += head_dim) {
        for (std::size_t pair = 0; pair < head_dim / 2; ++pair) {
            const FeaturePair here = feature_pair(from, pair, head_dim);
            const FeaturePair there = feature_pair(to, pair, head_dim);
            rows[head + there.first] = head + here.first;
            rows[head + there.second] = head + here.second;
        }
    }
    return rows_of(tensor, rows);
}

/// Returns a tensor of a layer with its features in the order of a pairing.
Tensor paired(const Model& model, std::size_t n, const std::string& name, Pairing to) {
    const Tensor tensor = cast(model.read(in_layer(n, name)), DType::float32);
    if (name != "w_query" && name != "w_key") return tensor;
    const Architecture& a = model.architecture;
    return reordered(tensor, a.head_dim, *a.layers[n].pairing, to);
}

}  // namespace

std::string config_json(const Model& model) {
    require_llama(model, "hf");
    const Architecture& a = model.architecture;
    using Json = nlohmann::ordered_json;
    Json ends = a.end_ids;
    if (ends.size() < 2) ends = ends.empty() ? Json() : ends.front();
    return json_text(Json{{"architectures", Json::array({"LlamaForCausalLM"})},
                          {"model_type", "llama"},
                          {"hidden_act", "silu"},
                          {"attention_bias", false},
                          {"torch_dtype", "float32"},
                          {"bos_token_id", a.begin_id ? Json(*a.begin_id) : Json()},
                          {"eos_token_id", ends},
                          {"hidden_size", a.embed_dim},
                          {"intermediate_size", a.mlp_dim},
                          {"num_hidden_layers", a.layers.size()},
                          {"num_attention_heads", a.heads},
                          {"num_key_value_heads", a.kv_heads},
                          {"head_dim", a.head_dim},
                          {"vocab_size", a.vocab_size},
                          {"max_position_embeddings", a.most_tokens},
                          {"rms_norm_eps", a.norm_eps},
                          {"rope_theta", a.layers.front().theta},
                          {"tie_word_embeddings", !model.has("w_vocab")}},
                     2);
}

std::vector<NamedTensor> tensors_for_hugging_face(const Model& model) {
    require_llama(model, "hf");
    const auto whole = [&](const char* name) { return cast(model.read(name), DType::float32); };
    std::vector<NamedTensor> all;
    const auto add = [&all](const std::string& before, const char* ours, const Tensor& tensor) {
        all.push_back({before + name_in_llama(ours), tensor});
    };
    add("model.", "embedding", whole("embedding"));
    for (std::size_t n = 0; n < model.architecture.layers.size(); ++n) {
        const std::string layer = "model.layers." + std::to_string(n) + ".";
        for (const char* ours : llama2c_layer)
            add(layer, ours, paired(model, n, ours, Pairing::half));
    }
    add("model.", "g_final", whole("g_final"));
    if (model.has("w_vocab")) add("", "w_vocab", whole("w_vocab"));
    return all;
}

nlohmann::json metadata_for_gguf(const Model& model, bool half) {
    require_llama(model, "gguf");
    const Architecture& a = model.architecture;
    nlohmann::json specified =
        model.tokenizer ? model.tokenizer->as_gguf() : nlohmann::json::object();
    specified["general.architecture"] = "llama";
    specified["general.name"] = model.label;
    specified["general.file_type"] = half ? 1U : 0U;
    const auto set_key = [&specified](const char* key, auto value) {
        specified[std::string("llama.") + key] = value;
    };
    set_key("context_length", a.most_tokens);
    set_key("embedding_length", a.embed_dim);
    set_key("block_count", a.layers.size());
    set_key("feed_forward_length", a.mlp_dim);
    set_key("vocab_size", a.vocab_size);
    set_key("attention.head_count", a.heads);
    set_key("attention.head_count_kv", a.kv_heads);
    set_key("attention.key_length", a.head_dim);
    set_key("attention.value_length", a.head_dim);
    set_key("attention.layer_norm_rms_epsilon", a.norm_eps);
    set_key("rope.dimension_count", a.head_dim);
    set_key("rope.freq_base", a.layers.front().theta);
    return specified;
}

std::vector<NamedTensor> tensors_for_gguf(const Model& model, bool half) {
    require_llama(model, "gguf");
    std::vector<NamedTensor> all;
    const auto add = [&](const std::string& layer, const char* ours, const Tensor& tensor) {
        const std::string name = facts_of_gguf()["tensors"][ours];
        const bool narrow = half && tensor.dimension() == 2;
        all.push_back(
            {layer + name + ".weight", cast(tensor, narrow ? DType::float16 : DType::float32)});
    };
    for (const char* ours : {"embedding", "g_final", "w_vocab"}) {
        if (model.has(ours)) add("", ours, model.read(ours));
    }
    for (std::size_t n = 0; n < model.architecture.layers.size(); ++n) {
        for (const char* ours : llama2c_layer) {
            add("blk." + std::to_string(n) + ".", ours,
                paired(model, n, ours, Pairing::interleaved));
        }
    }
    return all;
}

}  // namespace attn::models
