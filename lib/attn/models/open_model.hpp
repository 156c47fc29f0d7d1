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

/// The model in a file, or one that the program holds: `stories` (stories260K, a Llama that tells
/// children's stories).
///
/// `tokenizer` is a file to take in the place of the one that lies beside the model: of llama2.c,
/// or tokenizer.json for a model of Hugging Face.
///
/// Errors  InputError naming the file, what is wrong in it and what to do; ConfigError for a
///         tokenizer where the model takes none.
Model open_model(const std::string& path, const std::string& tokenizer = {});

/// The file of a model, or one beside it.
///
/// Errors  InputError for what is no file, for a git-lfs pointer and for formats of other programs,
///         which it names.
std::shared_ptr<InputFile> open_model_file(const std::string& path);

/// A model as llama2.c writes it (version 0): 7 int32 (embed_dim, mlp_dim, layers, heads, kv_heads,
/// vocab_size, negative with an output matrix of its own, most_tokens), then float32 tensors.
///
/// Errors  InputError, starting with the file's label: sizes that contradict each other, or that
///         the file is too short or too long for.
/// Source  export.py of github.com/karpathy/llama2.c.
Model read_llama2c(std::shared_ptr<const InputFile> file);

/// The tensors of each layer there, in this order: one for all layers, then the next.
inline constexpr const char* llama2c_layer[] = {
    "g_attention", "w_query", "w_key", "w_value", "w_output", "g_mlp", "w_gate", "w_down", "w_up"};

/// Files of data/models that the program holds, byte for byte (see shipped.S).
extern const std::string_view stories_bin;
extern const std::string_view stories_tokenizer;

/// stories_bin and stories_tokenizer one after the other, as zlib packs them. Of each four bytes
/// the bits are turned once to the left, so that the exponent of a float is a byte of its own, and
/// then come all first bytes, all second ones, and so on: exponents are much alike.
std::string packed_stories();

/// A model of the Llama kind as Hugging Face's transformers keep it: config.json and tensors. Where
/// features rotate with their neighbours, the rows of w_query and w_key are put into the order of
/// halves: row 2i + b of a head goes to row b * head_dim / 2 + i.
///
/// Errors  ConfigError for a model of another kind, which these names cannot say.
std::string config_json(const Model& model);
std::vector<NamedTensor> tensors_for_hugging_face(const Model& model);

/// The same as a GGUF file has them: metadata with the tokenizer where its pieces have scores, and
/// tensors with the rows in the order of neighbours, matrices as float16 where `half` says so.
nlohmann::json metadata_for_gguf(const Model& model, bool half);
std::vector<NamedTensor> tensors_for_gguf(const Model& model, bool half);

}  // namespace attn::models
