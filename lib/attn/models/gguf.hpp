#pragma once
#include <memory>
#include <string>

#include "attn/files/io/gguf.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// Opens the GGUF file at `path`. Its metadata are a Hugging Face configuration under other names,
/// and its tensors are those of that family (families.json has the rows). Changes that the format
/// makes are undone: interleaved rows of Llama's w_query and w_key are reordered, 1 is subtracted
/// from gains stored as 1 + g, and frequency factors are read from their tensor.
///
/// `tokenizer` is a tokenizer.json to use in place of the file's own; one that lies next to the
/// file becomes the model's `other_tokenizer`.
///
/// Errors  InputError, starting with the file's label, as for a folder; for one part of several;
///         for an unknown setting that would change the numbers.
/// Source  docs/gguf.md of github.com/ggml-org/ggml, names and constants of gguf-py.
Model open_gguf(std::shared_ptr<const InputFile> file, const std::string& path,
                const std::string& tokenizer);

/// Returns the tokenizer in a GGUF file's metadata as a tokenizer.json: byte pairs with GPT-2's
/// merges, or sentencepiece's pieces with scores.
///
/// Errors  InputError, starting with `label`, naming any other kind of tokenizer.
nlohmann::json tokenizer_of_gguf(const nlohmann::json& metadata, const std::string& label);

}  // namespace attn::models
