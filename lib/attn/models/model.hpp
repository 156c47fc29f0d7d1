#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/steps/norm.hpp"
#include "attn/core/steps/qk_norm.hpp"
#include "attn/core/steps/rope_scaling.hpp"
#include "attn/core/steps/rotary.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/models/tokenizer.hpp"

namespace attn::models {

enum class Activation { silu, gelu, gelu_tanh };

/// Settings that may differ between the layers of a model.
struct LayerKind {
    std::optional<std::size_t> window{};  ///< number of keys that a query sees, including its own
    std::optional<Pairing> pairing{};     ///< unset: no rotation in this layer
    double theta = 10000;
    std::optional<RopeScaling> scaling{};
    std::size_t rotary_dim = 0;  ///< rotated features per head
    double scale = 1;            ///< factor on the model's scale of the scores
};

/// A model without its numbers: sizes and design choices.
struct Architecture {
    std::string family;  ///< `llama2.c`, `llama`, `gpt2`, ...
    std::size_t embed_dim = 0;
    std::size_t mlp_dim = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;
    std::size_t vocab_size = 0;
    std::size_t most_tokens = 0;  ///< longest sequence that it supports
    std::vector<LayerKind> layers;

    NormKind norm = NormKind::rms;
    double norm_eps = 1e-5;
    bool norm_adds_one = false;  ///< Gemma: gains are stored less 1
    Activation activation = Activation::silu;
    std::optional<NormOver> qk_norm;  ///< norm of query and key before the rotation
    double scale = 1;                 ///< factor on the scores
    double embedding_scale = 1;       ///< Gemma: sqrt(embed_dim)
    double residual_scale = 1;        ///< factor on the outputs of attention and MLP
    double logit_scale = 1;
    double attention_softcap = 0;  ///< 0: none
    double logit_softcap = 0;      ///< 0: none
    std::size_t experts = 0;       ///< MLPs per layer, if a router chooses among them
    std::size_t experts_per_token = 0;
    double experts_limit = 0;        ///< gpt-oss: clamps gates and ups; 0: a silu
    bool shares_of_chosen = true;    ///< the shares of the chosen experts sum to 1
    bool alibi = false;              ///< scores decrease with the distance
    std::size_t first_position = 0;  ///< row of the first token, after that of padding
    bool causal = true;              ///< its logits then predict the next token
    bool parallel = false;           ///< attention and MLP read the same x
    bool norm_after_sum = false;     ///< BERT: x = norm(x + attention(x))
    bool attention_bias = false;     ///< its projections have biases, if the family allows both
    bool mlp_bias = false;
    bool tied = true;  ///< the output matrix is the embedding, unless there is a w_vocab
    std::vector<std::int64_t> end_ids{};     ///< tokens that end a text
    std::optional<std::int64_t> begin_id{};  ///< the token that a text begins with

    /// Returns the shape of the tensor with this name in Model, without the number of its layer.
    Shape shape_of(std::string_view tensor) const;
};

/// A trained model: its architecture, its tokenizer, and its tensors by the names below, each read
/// on demand. Matrices are (out, in), whatever the file's layout is.
///
///     embedding position_embedding g_embedding b_embedding g_final b_final w_vocab b_vocab
///     and per layer: g_attention b_attention w_query b_query w_key b_key w_value b_value
///     w_output b_output g_query g_key sink g_attention_output b_attention_output
///     g_mlp b_mlp w_gate b_gate w_up b_up w_down b_down g_mlp_output b_mlp_output
///     w_router b_router w_experts_up b_experts_up w_experts_down b_experts_down
class Model {
public:
    using Read = std::function<Tensor()>;
    using ReadRows = std::function<Tensor(const std::vector<std::size_t>& rows)>;
    using Keep = std::function<ReadRows()>;
    /// Describes how a file encodes a number of a matrix in a block.
    using Origin =
        std::function<std::string(const std::string& name, std::size_t row, std::size_t column)>;

    std::string label;  ///< name in messages: the file's path, `stories`
    Architecture architecture;
    std::shared_ptr<const Tokenizer> tokenizer;  ///< null: only ids
    /// The tokenizer next to a file that contains its own: both should give texts the same ids.
    std::shared_ptr<const Tokenizer> other_tokenizer;
    std::string other_tokenizer_label{};
    Origin notify{};     ///< null: its file stores numbers one by one
    std::string note{};  ///< an ignored file next to the model; empty if there is none
    std::vector<std::string> left_out{};  ///< ablated parts: `4.attn`
    std::string tokenizer_trouble{};      ///< why there is none although its file exists
    std::function<void(std::size_t layer)> begins_layer{};  ///< called before each is read

    /// Adds a tensor and, if the file supports it, a way to read some of its rows. Reading checks
    /// the shape; messages use the name in the file, with `rows` as the file's row numbers.
    void add(const std::string& name, Shape shape, Read read, ReadRows read_rows = {},
             const std::string& in_file = {}, std::vector<std::size_t> rows = {});
    /// Sets the bytes per number of a tensor in its file and, for numbers in blocks, a way to keep
    /// the blocks in memory and unpack rows of them.
    void store_as(const std::string& name, double width, Keep keep);
    bool has(const std::string& name) const { return tensors_.contains(name); }
    const Shape& shape_of(const std::string& name) const { return stored(name).shape; }
    /// Calls `each` with the size of every tensor, in numbers and in bytes of its file.
    void for_each_size(const std::function<void(std::string_view name, double numbers, double bytes,
                                                bool in_blocks)>& each) const;
    /// Keeps the blocks of a tensor in memory: returns a function that unpacks rows of them, or
    /// null for numbers that are not in blocks.
    ReadRows keep(const std::string& name) const;
    /// Returns the name of the output matrix.  Errors  InputError if there is none.
    const char* vocabulary() const;
    /// Errors  InputError, starting with the label, for a tensor that is missing or does not have
    ///         the shape of the architecture.
    Tensor read(const std::string& name) const;
    /// Reads those rows of its first axis, without reading the other ones of a large tensor.
    /// Errors  as read().
    Tensor read_rows(const std::string& name, const std::vector<std::size_t>& rows) const;

    /// Describes how its file encodes a number of a matrix in a block; empty if it does not.
    std::string origin(const std::string& name, std::size_t row, std::size_t column) const;

    /// Returns the token ids of a text.  Errors  ConfigError without a tokenizer; those of the
    /// tokenizer.
    std::vector<std::int64_t> encode(std::string_view text) const;
    /// Errors  ConfigError for an id outside of the vocabulary, or too many ids.
    void check_ids(const std::vector<std::int64_t>& ids) const;

private:
    struct Stored {
        Shape shape;
        Read read;
        ReadRows read_rows;
        std::string in_file, label;
        std::vector<std::size_t> rows;
        double width = sizeof(float);
        Keep keep{};
    };
    const Stored& stored(const std::string& name) const;
    /// Checks that a tensor that was read has this shape.
    Tensor checked(const Stored& stored, Tensor tensor, const Shape& shape) const;

    std::map<std::string, Stored> tensors_;
};

/// The name of a layer's tensor in a model: `3.w_query`.
inline std::string in_layer(std::size_t layer, std::string_view name) {
    return std::to_string(layer) + "." + std::string(name);
}

}  // namespace attn::models
