#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/text_pieces.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// Opens the model in a file, or the embedded one: `stories` (stories260K, a Llama trained on
/// children's stories).
///
/// `tokenizer` replaces the file next to the model: one of llama2.c, or a tokenizer.json for a
/// Hugging Face model.
///
/// Errors  InputError naming the file, the problem and a remedy; ConfigError for a tokenizer that
///         the model cannot use.
Model open_model(const std::string& path, const std::string& tokenizer = {});

/// Opens the file of a model, or one next to it.
///
/// Errors  InputError for a missing file, for a git-lfs pointer and for formats of other programs,
///         which it names.
std::shared_ptr<InputFile> open_model_file(const std::string& path);

/// Reads a llama2.c model (version 0): 7 int32 (embed_dim, mlp_dim, layers, heads, kv_heads,
/// vocab_size, negative if there is an output matrix, most_tokens), then float32 tensors.
///
/// Errors  InputError, starting with the file's label: sizes that contradict each other, or do not
///         match the length of the file.
/// Source  export.py of github.com/karpathy/llama2.c.
Model read_llama2c(std::shared_ptr<const InputFile> file);

/// The order of a layer's tensors in the file: one tensor for all layers, then the next.
inline constexpr const char* llama2c_layer[] = {
    "g_attention", "w_query", "w_key", "w_value", "w_output", "g_mlp", "w_gate", "w_down", "w_up"};

/// Files of data/models, embedded byte for byte (see shipped.S).
extern const std::string_view stories_bin;
extern const std::string_view stories_tokenizer;

/// Returns stories_bin and stories_tokenizer, joined and compressed by zlib. Each group of four
/// bytes is rotated left by one bit, so that the exponent of a float is a byte of its own, and
/// bytes are grouped by their place in a float: exponents are similar and compress well.
std::string packed_stories();

/// Returns a Llama-like model in the format of Hugging Face's transformers: config.json and
/// tensors. For interleaved rotation, rows of w_query and w_key are reordered to halves: row 2i + b
/// of a head becomes row b * head_dim / 2 + i.
///
/// Errors  ConfigError for other models, which these names cannot describe.
std::string config_json(const Model& model);
std::vector<NamedTensor> tensors_for_hugging_face(const Model& model);

/// Returns the model for a GGUF file: metadata, with the tokenizer if its pieces have scores, and
/// tensors with interleaved rows, matrices as float16 if `half` is true.
nlohmann::json metadata_for_gguf(const Model& model, bool half);
std::vector<NamedTensor> tensors_for_gguf(const Model& model, bool half);

}  // namespace attn::models
