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

// Models as Hugging Face's transformers keep them: a folder with config.json, .safetensors files
// and tokenizer.json.

/// What Llamas call one of our tensors, after the layer's number where it is of a layer.
std::string name_in_llama(std::string_view ours);

/// How a family calls and lays out the parameters of attention, as one walk takes them.
struct AttentionNames {
    std::string word;           ///< `gpt2`
    std::string before_number;  ///< of the layer: `h.`
    /// Ours after w_ and b_, theirs in front of .weight and .bias: qkv, .attn.c_attn
    std::vector<std::pair<std::string, std::string>> parts{};
    bool fused = false;   ///< query, key and value share `w_qkv`
    bool in_out = false;  ///< matrices are stored (in, out), not (out, in)
    bool causal = false;
};

/// Those of `gpt2` or `bert`, which rotate nothing.  Errors  ConfigError for any other word.
AttentionNames attention_names(std::string_view word);

/// Finds the attention parameters of layer number `layer`, counted from 0, under our names. A
/// prefix before theirs (`transformer.`, `bert.`) is passed over; all else is not read.
///
/// Errors  InputError, starting with `label`: a layer that is not there (the message says which
///         are), a matrix that is missing or found under two prefixes.
std::vector<NamedTensor> pick_layer(const std::vector<StoredArray>& arrays,
                                    const AttentionNames& names, std::int64_t layer,
                                    const std::string& label);

/// The model in a folder, or in the file of one; `tokenizer` in the place of its tokenizer.json.
/// Errors  as those above and the readers of its files.
Model open_hugging_face(const std::filesystem::path& place, const std::string& tokenizer = {});

}  // namespace attn::models
