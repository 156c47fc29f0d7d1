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

/// Splits text into a model's tokens, and returns the text of tokens.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    /// Returns the ids of a text, with those that the model expects at its beginning.
    ///
    /// Errors  InputError for text that has no tokens, or bytes that are not UTF-8.
    virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;

    /// Returns the bytes of token `id` after the token `previous` (-1: at the beginning).
    /// Errors  ConfigError for an id outside of the vocabulary; so does label().
    virtual std::string piece(std::int64_t id, std::int64_t previous) const = 0;

    /// Returns the token's text alone, as a label of rows and columns.
    virtual std::string label(std::int64_t id) const = 0;

    /// Returns the tokenizer as a Hugging Face tokenizer.json; empty if it cannot be expressed.
    virtual std::string as_json() const { return {}; }

    /// Returns the tokenizer as GGUF metadata; an empty object if it cannot be expressed.
    virtual nlohmann::json as_gguf() const;
};

/// Converts an id to an index below `size`.  Errors  ConfigError for an id out of range.
std::size_t place_of_token(std::int64_t id, std::size_t size);

/// Returns the text of consecutive tokens.
std::string text_of(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids);

/// Reads a llama2.c tokenizer: sentencepiece pieces with scores.
///
///     int32 longest piece; for each token: float32 score, int32 bytes, the bytes
///
/// A text begins with token 1 and a space, is split into characters (or bytes, from id 3 on), and
/// then the neighbours whose joined piece has the highest score are joined, until none is a piece.
///
/// Errors  InputError, starting with the file's label: a file that is too short or too long, a
///         length below 1, pieces without the 256 bytes.
std::shared_ptr<const Tokenizer> read_scored_tokenizer(const InputFile& file,
                                                       std::size_t vocab_size);

/// Writes a tokenizer in the format that it was read from; null for the other format.
struct TokenizerSource {
    std::function<std::string()> as_json{};     ///< a tokenizer.json
    std::function<nlohmann::json()> as_gguf{};  ///< metadata of a GGUF file
};

/// Reads a Hugging Face tokenizer.json: a text is normalized and split into words (text_cuts.hpp),
/// and each word into pieces, by a list of merges (BPE) or by the longest match (WordPiece). Other
/// kinds of tokenizers have labels, but cannot split text.
///
/// Errors  InputError, starting with `label`: invalid JSON, ids beyond the vocabulary.
std::shared_ptr<const Tokenizer> read_json_tokenizer(std::string_view text,
                                                     const std::string& label,
                                                     std::size_t vocab_size,
                                                     TokenizerSource source = {});

/// Reads it from parsed JSON.
std::shared_ptr<const Tokenizer> tokenizer_of_json(nlohmann::json file, const std::string& label,
                                                   std::size_t vocab_size,
                                                   TokenizerSource source = {});

}  // namespace attn::models
