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
    std::optional<std::size_t> window{};  ///< keys that a query sees, its own among them
    std::optional<Pairing> pairing{};     ///< unset: this layer does not rotate
    double theta = 10000;
    std::optional<RopeScaling> scaling{};
    std::size_t rotary_dim = 0;  ///< features of each head that turn
    double scale = 1;            ///< on the model's scale of the scores
};

/// A model but for its numbers: sizes, and which of the known ways it takes at each fork.
struct Architecture {
    std::string family;  ///< `llama2.c`, `llama`, `gpt2`, ...
    std::size_t embed_dim = 0;
    std::size_t mlp_dim = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;
    std::size_t vocab_size = 0;
    std::size_t most_tokens = 0;  ///< longest sequence that it was made for
    std::vector<LayerKind> layers;

    NormKind norm = NormKind::rms;
    double norm_eps = 1e-5;
    bool norm_adds_one = false;  ///< Gemma: gains are stored less 1
    Activation activation = Activation::silu;
    std::optional<NormOver> qk_norm;  ///< norm of query and key in front of the rotation
    double scale = 1;                 ///< factor on the scores
    double embedding_scale = 1;       ///< Gemma: sqrt(embed_dim)
    double residual_scale = 1;        ///< on what attention and MLP add to x
    double logit_scale = 1;
    double attention_softcap = 0;  ///< 0: none
    double logit_softcap = 0;      ///< 0: none
    std::size_t experts = 0;       ///< MLPs of each layer, where a router chooses among them
    std::size_t experts_per_token = 0;
    double experts_limit = 0;        ///< gpt-oss: their gates and ups are held below it; 0: a silu
    bool shares_of_chosen = true;    ///< the shares of the chosen experts sum to 1
    bool alibi = false;              ///< scores fall with the distance
    std::size_t first_position = 0;  ///< row of the first token; the one before it is padding's
    bool causal = true;              ///< its logits are then those of the next token
    bool parallel = false;        ///< attention and MLP read the same x, and both are added to it
    bool norm_after_sum = false;  ///< BERT: x = norm(x + attention(x))
    bool attention_bias = false;  ///< its projections have biases, where the family has the choice
    bool mlp_bias = false;
    bool tied = true;  ///< logits are made with the embedding, unless there is a w_vocab
    std::vector<std::int64_t> end_ids{};     ///< tokens after which a text is at its end
    std::optional<std::int64_t> begin_id{};  ///< the token that a text begins with

    /// The shape of the tensor that Model calls by this name, without the number of its layer.
    Shape shape_of(std::string_view tensor) const;
};

/// A trained model: its architecture, its tokenizer, and its tensors by the names below, each read
/// when it is asked for. Matrices are (out, in), whatever the file does.
///
///     embedding position_embedding g_embedding b_embedding g_final b_final w_vocab b_vocab
///     and of each layer: g_attention b_attention w_query b_query w_key b_key w_value b_value
///     w_output b_output g_query g_key sink g_attention_output b_attention_output
///     g_mlp b_mlp w_gate b_gate w_up b_up w_down b_down g_mlp_output b_mlp_output
///     w_router b_router w_experts_up b_experts_up w_experts_down b_experts_down
class Model {
public:
    using Read = std::function<Tensor()>;
    using ReadRows = std::function<Tensor(const std::vector<std::size_t>& rows)>;
    using Keep = std::function<ReadRows()>;
    /// How a file makes a number of one of its matrices out of a block of codes.
    using Origin =
        std::function<std::string(const std::string& name, std::size_t row, std::size_t column)>;

    std::string label;  ///< how messages call it: the file's path, `stories`
    Architecture architecture;
    std::shared_ptr<const Tokenizer> tokenizer;  ///< null: ids alone
    /// What lies beside a file that holds a tokenizer of its own: texts should fall into the same
    /// ids.
    std::shared_ptr<const Tokenizer> other_tokenizer;
    std::string other_tokenizer_label{};
    Origin tell{};       ///< none: its file keeps numbers one by one
    std::string note{};  ///< what lies beside the model and is not applied; empty: nothing
    std::vector<std::string> left_out{};  ///< parts that its runs do without: `4.attn`
    std::string tokenizer_trouble{};      ///< why there is none, where one lies there
    std::function<void(std::size_t layer)> begins_layer{};  ///< called before each is read

    /// States a tensor, and how rows of it are read alone where its file can do that. Reading it
    /// checks the shape; messages name it as its file does, where its rows are those of `rows`.
    void add(const std::string& name, Shape shape, Read read, ReadRows read_rows = {},
             const std::string& in_file = {}, std::vector<std::size_t> rows = {});
    /// States how many bytes a number of a tensor takes in its file and, for numbers in blocks, how
    /// to keep the blocks in memory and open rows of them.
    void store_as(const std::string& name, double width, Keep keep);
    bool has(const std::string& name) const { return tensors_.contains(name); }
    const Shape& shape_of(const std::string& name) const { return stored(name).shape; }
    /// Calls `each` with the size of every tensor, in numbers and in bytes of its file.
    void for_each_size(const std::function<void(std::string_view name, double numbers, double bytes,
                                                bool in_blocks)>& each) const;
    /// Keeps the blocks of a tensor in memory: returns what opens rows of them, or null for numbers
    /// that are not in blocks.
    ReadRows keep(const std::string& name) const;
    /// The name of the matrix that makes logits.  Errors  InputError where there is none.
    const char* vocabulary() const;
    /// Errors  InputError, starting with the label, for a tensor that is not there or is of another
    ///         shape than the architecture says.
    Tensor read(const std::string& name) const;
    /// Those rows of its first axis; of a tensor of gigabytes, no more than these are read.
    /// Errors  as read().
    Tensor read_rows(const std::string& name, const std::vector<std::size_t>& rows) const;

    /// How its file makes a number of a matrix out of a block of codes; empty where it does not.
    std::string origin(const std::string& name, std::size_t row, std::size_t column) const;

    /// Token ids of a text.  Errors  ConfigError without a tokenizer; what it throws.
    std::vector<std::int64_t> encode(std::string_view text) const;
    /// Errors  ConfigError for an id outside of the vocabulary, or too many of them.
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
    /// The numbers that were read of a tensor, which must be of that shape.
    Tensor checked(const Stored& stored, Tensor tensor, const Shape& shape) const;

    std::map<std::string, Stored> tensors_;
};

/// The name of a layer's tensor in a model: `3.w_query`.
inline std::string in_layer(std::size_t layer, std::string_view name) {
    return std::to_string(layer) + "." + std::string(name);
}

}  // namespace attn::models
