#pragma once
#include <memory>
#include <string>

#include "attn/files/io/gguf.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// The model in the GGUF file at `path`. Its metadata are a configuration of Hugging Face under
/// other names, and its tensors those of that family (families.json has the rows); what the format
/// changes is changed back: rows of Llama's w_query and w_key that lie as neighbours turn, gains
/// that hold 1 + g, factors of frequencies that are a tensor.
///
/// `tokenizer` is a tokenizer.json to take in the place of the file's own; where one lies beside
/// the file, it is the model's `other_tokenizer`.
///
/// Errors  InputError, starting with the file's label, as of a folder; for one part of several;
///         for a setting that would change the numbers and is not known here.
/// Source  docs/gguf.md of github.com/ggml-org/ggml, names and constants of gguf-py.
Model open_gguf(std::shared_ptr<const InputFile> file, const std::string& path,
                const std::string& tokenizer);

/// The tokenizer in a GGUF file's metadata as a tokenizer.json: byte pairs as GPT-2 joins them, or
/// sentencepiece's pieces with scores.
///
/// Errors  InputError, starting with `label`, that names another kind of tokenizer.
nlohmann::json tokenizer_of_gguf(const nlohmann::json& metadata, const std::string& label);

}  // namespace attn::models
