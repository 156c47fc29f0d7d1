// Checkpoints with missing, unknown or contradicting parts.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/models/checkpoints.hpp"
#include "tests/support/refusal.hpp"

namespace {

using namespace attn;
using namespace attn::models;
namespace fs = std::filesystem;

using checkpoints::change_config;
using checkpoints::has;
using checkpoints::small_models;

/// The error from opening and reading a copy of a checkpoint after `damage`.
template <class Damage>
std::string refusal_after(const std::string& family, Damage damage) {
    const ScratchFolder scratch;
    fs::copy(small_models / family, scratch.path(), fs::copy_options::recursive);
    fs::remove(scratch / "model.gguf");
    damage(scratch.path());
    return refusal<Error>([&] {
        const Model model = open_model(scratch.path().string());
        Runtime<double>(model).advance(std::vector<std::int64_t>{1, 2, 3});
    });
}

std::string config_with(const std::string& family, const nlohmann::json& keys) {
    return refusal_after(family, [&](const fs::path& folder) { change_config(folder, keys); });
}
std::string config_with(const std::string& family, const std::string& key,
                        const nlohmann::json& value) {
    return config_with(family, nlohmann::json{{key, value}});
}
/// The architecture of a checkpoint with other keys in its config.json.
Architecture architecture_with(const std::string& family, const nlohmann::json& keys) {
    const ScratchFolder scratch;
    fs::copy(small_models / family, scratch.path(), fs::copy_options::recursive);
    change_config(scratch.path(), keys);
    return open_model(scratch.path().string()).architecture;
}

/// Renames a tensor of a checkpoint; both names have the same length.
void rename_tensor(const fs::path& folder, const std::string& from, const std::string& to) {
    const fs::path file = folder / "model.safetensors";
    std::ifstream stream(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const std::size_t at = bytes.find("\"" + from + "\"");
    REQUIRE(at != bytes.npos);
    REQUIRE(from.size() == to.size());
    bytes.replace(at + 1, from.size(), to);
    write_file(file.string(), bytes);
}

}  // namespace

TEST_SUITE("models: damaged families") {
    TEST_CASE("missing or contradicting parts are one line that names them") {
        CHECK(refusal_after("mistral", [](const fs::path& folder) {
                  fs::remove(folder / "config.json");
              }).find("there is no config.json beside it") != std::string::npos);
        CHECK(refusal_after("mistral", [](const fs::path& folder) {
                  fs::remove(folder / "model.safetensors");
              }).find("has neither model.safetensors nor its index") != std::string::npos);
        CHECK(refusal_after("olmo2", [](const fs::path& folder) {
                  write_file((folder / "model.safetensors.index.json").string(),
                             "{\"weight_map\": {\"a\": \"../model.safetensors\"}}");
              }).find("names a file that is not next to it") != std::string::npos);
        CHECK(config_with("llama", "model_type", "t5").find("an encoder that a decoder reads") !=
              std::string::npos);
        CHECK(config_with("llama", "model_type", "mamba").find("the model_type 'mamba' is not") !=
              std::string::npos);
        CHECK(config_with("llama", "num_attention_heads", 0)
                  .find("num_attention_heads is not a size") != std::string::npos);
        CHECK(config_with("llama", "num_key_value_heads", 3).find("does not divide") !=
              std::string::npos);
        CHECK(config_with("llama", "num_hidden_layers", 3)
                  .find("lacks model.layers.2.self_attn.q_proj.weight (llama), which makes w_query "
                        "(16, 8)") != std::string::npos);
        CHECK(config_with("llama", "head_dim", 8).find("has the shape (16, 8), not (32, 8)") !=
              std::string::npos);
        CHECK(config_with("gpt_oss", "num_local_experts", 2)
                  .find("mlp.router.bias as 0.b_router has the shape (4,), not (2,)") !=
              std::string::npos);
        CHECK(config_with("gpt_oss", "num_experts_per_tok", 5)
                  .find("is larger than num_local_experts") != std::string::npos);
        CHECK(config_with("qwen3", "hidden_act", "relu6").find("the activation 'relu6'") !=
              std::string::npos);
        CHECK(config_with("qwen3", "rope_scaling", {{"rope_type", "su"}, {"factor", 2}})
                  .find("rope_scaling") != std::string::npos);
        CHECK(config_with("gpt2", "n_embd", "many").find("is not a size") != std::string::npos);
        // Two spellings of one setting must agree, as it is unknown which is meant.
        for (const auto& [family, keys] :
             {std::pair<std::string, nlohmann::json>{
                  "gpt_neox", {{"rotary_emb_base", 500}, {"rope_theta", 777}}},
              {"gpt_neox", {{"rotary_pct", 0.5}, {"partial_rotary_factor", 0.25}}},
              {"gpt2", {{"hidden_size", 8}}},
              {"gpt2", {{"num_hidden_layers", 1}}},
              {"gpt2", {{"n_positions", 64}, {"n_ctx", 32}}},
              {"llama", {{"n_head", 2}}},
              {"llama", {{"rope_scaling", {{"rope_type", "linear"}, {"type", "yarn"}}}}}}) {
            CHECK_MESSAGE(has(config_with(family, keys), "two names of one setting"), keys.dump());
        }
        CHECK(architecture_with("gpt_neox", {{"rotary_emb_base", 500}, {"rope_theta", 500.0}})
                  .layers[0]
                  .theta == 500);
    }
    TEST_CASE("a key that changes the arithmetic has its neutral value, or is refused by name") {
        for (const auto& [family, key, value, text] :
             std::vector<std::tuple<std::string, std::string, nlohmann::json, std::string>>{
                 {"mistral", "residual_multiplier", 0.5, "residual_multiplier is 0.5"},
                 {"qwen2", "clip_qkv", 8, "clip_qkv is 8"},
                 {"llama", "attn_logit_softcapping", 30.0, "attn_logit_softcapping is 30.0"},
                 {"gemma3_text", "attn_logit_softcapping", 30.0, "attn_logit_softcapping is 30"},
                 {"gemma3_text", "use_bidirectional_attention", true, "attention is true"},
                 {"bert", "position_embedding_type", "relative_key", "is \"relative_key\""},
                 {"bert", "position_embedding_type", "rope", "is \"rope\""},
                 {"bert", "is_decoder", true, "is_decoder is true"},
                 {"gpt2", "add_cross_attention", true, "add_cross_attention is true"},
                 {"gpt2", "num_key_value_heads", 2, "num_key_value_heads is 2"},
                 {"cohere", "use_qk_norm", true, "use_qk_norm is true"},
                 {"stablelm", "use_parallel_residual", true, "use_parallel_residual is true"},
                 {"stablelm", "qk_layernorm", true, "qk_layernorm is true"},
                 {"falcon", "alibi", true, "alibi is true"},
                 {"falcon", "multi_query", false, "multi_query is false"},
                 {"falcon-by-group", "num_ln_in_parallel_attn", 1, "num_ln_in_parallel_attn is 1"},
                 {"qwen3_moe", "decoder_sparse_step", 2, "decoder_sparse_step is 2"},
                 {"bloom", "apply_residual_connection_post_layernorm", true, "layernorm is true"},
                 {"smollm3", "no_rope_layers", {1, 2}, "no_rope_layers has neither"},
                 {"gpt_neo", "attention_types", {"global"}, "attention_types is not a list"},
                 {"gpt_neo", "attention_types", {{{"global"}, 1}}, "attention_types is shorter"},
                 {"gptj", "rotary_dim", 3, "rope_theta or partial_rotary_factor is impossible"},
                 {"olmo2", "partial_rotary_factor", 0.5, "partial_rotary_factor is 0.5"},
                 {"llama",
                  "rope_scaling",
                  {{"rope_type", "mrope"}},
                  "rope_scaling 'mrope' is not known"},
                 {"phi", "rope_parameters", {{"rope_type", "ntk"}, {"factor", 2}}, "'ntk' is not"},
                 {"llama", "layer_types", {"sliding_attention", "full_attention"}, "layer_types"},
                 {"qwen2", "layer_types", {"full_attention", "linear_attention"}, "for layer 1"},
                 {"phi3", "quantization_config", {{"quant_method", "awq"}}, "says \"awq\""},
                 {"qwen3", "rms_norm_eps", -1, "rms_norm_eps is below 0"},
                 {"qwen3", "rope_scaling", "linear", "rope_scaling is not an object"},
                 {"qwen3", "rope_parameters", {1, 2}, "rope_parameters is not an object"},
                 {"qwen3", "rope_parameters", {{"rope_theta", 7}}, "rope_theta is given twice"},
                 {"qwen3", "rope_scaling", {{"rope_type", "linear"}}, "lacks factor"},
                 {"qwen3", "eos_token_id", "x", "eos_token_id is not a token id"},
                 {"gemma2", "query_pre_attn_scalar", 0, "query_pre_attn_scalar is not above 0"},
             }) {
            INFO(family << " " << key);
            CHECK(has(config_with(family, key, value), text));
        }
        CHECK(has(config_with("gpt_oss", {{"rope_scaling", nullptr}}), "lacks rope_scaling"));
        CHECK(
            config_with("mistral", {{"residual_multiplier", 1},
                                    {"attention_dropout", 0.1},
                                    {"use_cache", false},
                                    {"sliding_window", 4096},
                                    {"layer_types", {"sliding_attention", "sliding_attention"}}}) ==
            "not refused");
    }
    TEST_CASE("a tensor that nothing reads is named, except for buffers") {
        const auto renamed = [](const std::string& family, const std::string& from,
                                const std::string& to) {
            return refusal_after(family,
                                 [&](const fs::path& folder) { rename_tensor(folder, from, to); });
        };
        // One of Qwen's biases is stored under a name that such a model does not have.
        CHECK(has(renamed("qwen2", "model.layers.1.self_attn.v_proj.bias",
                          "model.layers.1.self_attn.o_proj.bias"),
                  "lacks model.layers.1.self_attn.v_proj.bias"));
        CHECK(has(config_with("llama", "num_hidden_layers", 1),
                  "'model.layers.1.input_layernorm.weight' is not a tensor of a llama"));
        CHECK(has(config_with("llama-with-biases", "attention_bias", false),
                  "'model.layers.0.self_attn.k_proj.bias' is not a tensor"));
        CHECK(
            has(config_with("llama-with-biases", "mlp_bias", false), "mlp.down_proj.bias' is no"));
        CHECK(has(config_with("gpt_neox", "attention_bias", false), "attention.dense.bias' is no"));
        CHECK(has(config_with("phi", {{"num_hidden_layers", 1}}), "'model.layers.1."));
    }
    TEST_CASE("parts that do not add up to their tensor are refused") {
        CHECK(has(config_with("phi3", "num_key_value_heads", 1),
                  "qkv_proj.weight as 0.w_query has the shape (32, 8)"));
        CHECK(has(config_with("phi3", "intermediate_size", 6), "gate_up_proj.weight as 0.w_gate"));
    }
    TEST_CASE("a window exists if the class of the model reads it") {
        for (const char* family : {"llama", "olmo2", "phi", "gpt_neox", "gpt2", "bert"}) {
            INFO(family);
            CHECK(!architecture_with(family, {{"sliding_window", 2}}).layers[1].window.has_value());
        }
        const nlohmann::json all{
            {"use_sliding_window", true}, {"sliding_window", 2}, {"max_window_layers", 0}};
        for (const char* family : {"qwen2", "qwen3"}) {
            CHECK(architecture_with(family, all).layers[0].window == 2);
        }
    }
    TEST_CASE("a missing key of a configuration has the default of its class") {
        CHECK(architecture_with("gpt_oss", {{"rope_theta", nullptr},
                                            {"rope_scaling", {{"rope_type", "default"}}}})
                  .layers[0]
                  .theta == 150000);
        const Architecture gemma3 =
            architecture_with("gemma3_text", {{"rope_theta", nullptr},
                                              {"rope_local_base_freq", nullptr},
                                              {"rms_norm_eps", nullptr}});
        CHECK(gemma3.layers[0].theta == 10000);
        CHECK(gemma3.layers[1].theta == 1e6);
        CHECK(gemma3.norm_eps == 1e-6);
        CHECK(architecture_with("phi3", {{"rms_norm_eps", nullptr}}).norm_eps == 1e-5);
        CHECK(
            architecture_with("gemma2", {{"attn_logit_softcapping", nullptr}}).attention_softcap ==
            50);
        CHECK(architecture_with("mistral", {{"sliding_window", nullptr}}).layers[0].window == 4096);
        CHECK(architecture_with("bert", {{"layer_norm_eps", nullptr}}).norm_eps == 1e-12);
        // The large Gemma 3 on the hub leave out most settings of their text part.
        CHECK(has(config_with("gemma3_text", {{"model_type", "gemma3"},
                                              {"text_config",
                                               {{"model_type", "gemma3_text"},
                                                {"num_hidden_layers", 2},
                                                {"hidden_size", 8},
                                                {"intermediate_size", 12}}}}),
                  "has the shape (13, 8), not (262208, 8)"));
    }
    TEST_CASE("a file in place of a model is named") {
        const ScratchFolder scratch;
        const auto judgement_text = [&](const std::string& name, const std::string& bytes) {
            write_file((scratch / name).string(), bytes);
            return refusal<Error>([&] { open_model((scratch / name).string()); });
        };
        const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\n";
        CHECK(has(judgement_text("b.bin", std::string("PK\x03\x04") + pointer),
                  "ZIP archive, as torch.save and NumPy write"));
        CHECK(has(judgement_text("c.bin", std::string("\x80\x02}q") + pointer), "torch.save"));
        CHECK(has(judgement_text("d.onnx", "\x08\x07\x12" + pointer), "an ONNX file"));
        CHECK(has(judgement_text("e.safetensors", pointer), "git lfs pull"));
        for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
            const std::string reported = refusal_after("qwen2", [&](const fs::path& folder) {
                write_file((folder / file).string(), pointer);
            });
            if (file == std::string("tokenizer.json")) {
                CHECK(reported == "not refused");  // its ids are still valid
            } else {
                CHECK(has(reported, "git lfs pull"));
            }
        }
        for (const char* file : {"config.json", "model.safetensors"}) {
            CHECK(has(refusal_after("phi",
                                    [&](const fs::path& folder) {
                                        fs::remove(folder / file);
                                        REQUIRE(::mkfifo((folder / file).c_str(), 0600) == 0);
                                    }),
                      "is a pipe or a device"));
        }
    }
}
