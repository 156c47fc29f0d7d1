#pragma once
#include <string>
#include <string_view>

#include "attn/models/model.hpp"

namespace attn::models {

// Models as Hugging Face's transformers keep them: a folder with config.json, .safetensors files
// and tokenizer.json.

/// What Llamas call one of our tensors, behind the layer's number where it is of a layer.
std::string name_in_llama(std::string_view ours);

/// The model in a folder, or in the file of one; `tokenizer` in the place of its tokenizer.json.
/// Errors  as those above and the readers of its files.
Model open_hugging_face(const std::string& path, const std::string& tokenizer = {});

}  // namespace attn::models
