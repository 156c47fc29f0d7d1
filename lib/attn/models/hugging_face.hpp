#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

// Models in the format of Hugging Face's transformers: a folder with config.json, .safetensors
// files and tokenizer.json.

/// Returns Llama's name of one of our tensors, for a layer's without the number.
std::string name_in_llama(std::string_view ours);

/// Names and layout of a family's attention parameters, for a single walk.
struct AttentionNames {
    std::string word;           ///< `gpt2`
    std::string before_number;  ///< of the layer: `h.`
    /// our name after w_ and b_, and the file's before .weight and .bias: qkv, .attn.c_attn
    std::vector<std::pair<std::string, std::string>> parts{};
    bool fused = false;   ///< query, key and value share `w_qkv`
    bool in_out = false;  ///< matrices are stored (in, out), not (out, in)
    bool causal = false;
};

/// Returns the names of `gpt2` or `bert`, which have no rotation.  Errors  ConfigError for another
/// word.
AttentionNames attention_names(std::string_view word);

/// Finds the attention parameters of layer number `layer`, from 0, under our names. Skips a prefix
/// of theirs (`transformer.`, `bert.`), and ignores all other arrays.
///
/// Errors  InputError, starting with `label`: a layer that does not exist (the message lists those
///         that do), a matrix that is missing or found under two prefixes.
std::vector<NamedTensor> pick_layer(const std::vector<StoredArray>& arrays,
                                    const AttentionNames& names, std::int64_t layer,
                                    const std::string& label);

/// Opens the model in a folder, or in a file of one, with `tokenizer` in place of its
/// tokenizer.json.
/// Errors  as those above and the readers of its files.
Model open_hugging_face(const std::filesystem::path& place, const std::string& tokenizer = {});

}  // namespace attn::models
