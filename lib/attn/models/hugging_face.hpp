#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/io/elements.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

// Models as Hugging Face's transformers keep them: a folder with config.json, .safetensors files
// and tokenizer.json.

/// One of the families whose files are known here, told by "model_type" in config.json.
enum class Family {
    llama,
    mistral,
    qwen2,
    qwen3,
    gemma2,
    gemma3,
    olmo2,
    phi,
    phi3,
    neox,
    gpt2,
    bert,
    gpt_oss
};

/// The family of a configuration.  Errors  InputError, listing those that are known.
Family family_in(const nlohmann::json& config, const std::string& label);

/// A configuration with what its class in transformers takes for the keys that it leaves out.
///
/// Errors  InputError naming a key that changes what the model computes and that is not read here,
///         where its value is not the one that changes nothing.
nlohmann::json completed_config(const nlohmann::json& config, Family family,
                                const std::string& label);

/// What config.json says of a model.
///
/// Errors  InputError, starting with `label`, naming the key: sizes that are missing or contradict
///         each other, a frequency scaling that is not known.
/// Source  the configurations and modeling files of transformers.
Architecture architecture_of(const nlohmann::json& config, Family family, const std::string& label);

/// States all tensors of a model under our names, whatever prefix theirs have.
///
/// Errors  InputError naming a tensor that is missing and the shape that it should have, or one
///         that nothing reads and that would change what the model computes.
void add_tensors(Model& model, Family family, const std::vector<StoredArray>& arrays);

/// What a family calls one of our tensors, behind the layer's number where it is of a layer.
std::string name_in(Family family, std::string_view ours);

/// The matrices of all experts of a layer, (expert, out, in), from (expert, in, out).
StoredArray transposed_experts(const StoredArray& plain);
/// The same from blocks of 32 numbers of 4 bits (MXFP4) and their scales, where both are there.
std::optional<StoredArray> unpacked_experts(const StoredArray* blocks, const StoredArray* scales);

/// The model in a folder, or in the file of one; `tokenizer` in the place of its tokenizer.json.
/// Errors  as those above and the readers of its files.
Model open_hugging_face(const std::string& path, const std::string& tokenizer = {});

}  // namespace attn::models
