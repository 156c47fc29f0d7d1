#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/files/io/input_file.hpp"

namespace attn::models {

/// How a model cuts text into tokens, and what text its tokens stand for.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    /// The ids of a text, with those that the model expects at its beginning.
    ///
    /// Errors  InputError for text that has no tokens, or bytes that are not UTF-8.
    virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;

    /// The bytes that token `id` stands for after the token `previous` (-1: at the beginning).
    /// Errors  ConfigError for an id outside of the vocabulary; label() too.
    virtual std::string piece(std::int64_t id, std::int64_t previous) const = 0;

    /// The token by itself, as a label of rows and columns.
    virtual std::string label(std::int64_t id) const = 0;

    /// The same tokenizer as tokenizer.json of Hugging Face; empty when that cannot say it.
    virtual std::string as_json() const { return {}; }

    /// The same tokenizer as metadata of a GGUF file; an empty object where that cannot say it.
    virtual nlohmann::json as_gguf() const;
};

/// The place of a token among `size`.  Errors  ConfigError for an id that is none of them.
std::size_t place_of_token(std::int64_t id, std::size_t size);

/// The text of tokens one after another.
std::string text_of(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids);

/// A tokenizer of llama2.c: sentencepiece pieces with scores.
///
///     int32 longest piece; for each token: float32 score, int32 bytes, the bytes
///
/// A text begins with token 1 and a blank, falls into characters (or bytes, from id 3 on), and
/// then the neighbours whose joined piece has the highest score are joined, until none is a piece.
///
/// Errors  InputError, starting with the file's label: a file that ends early or goes on, a length
///         below 1, pieces without the 256 bytes.
std::shared_ptr<const Tokenizer> read_scored_tokenizer(const InputFile& file,
                                                       std::size_t vocab_size);

/// Writes a tokenizer as the file that it was read from has it; null for the other format.
struct TokenizerSource {
    std::function<std::string()> as_json{};     ///< a tokenizer.json
    std::function<nlohmann::json()> as_gguf{};  ///< metadata of a GGUF file
};

/// The tokenizer in a tokenizer.json of Hugging Face: a text is normalized and cut into words
/// (text_cuts.hpp), each of which is made of pieces by a list of merges (BPE) or of the longest
/// ones that fit (WordPiece). Tokens of other kinds have labels, but no text is cut into them.
///
/// Errors  InputError, starting with `label`: text that is no such JSON, ids beyond the vocabulary.
std::shared_ptr<const Tokenizer> read_json_tokenizer(std::string_view text,
                                                     const std::string& label,
                                                     std::size_t vocab_size,
                                                     TokenizerSource source = {});

/// The same of JSON that was read already.
std::shared_ptr<const Tokenizer> tokenizer_of_json(nlohmann::json file, const std::string& label,
                                                   std::size_t vocab_size,
                                                   TokenizerSource source = {});

}  // namespace attn::models
