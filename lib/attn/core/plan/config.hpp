#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/steps/mask.hpp"
#include "attn/core/steps/norm.hpp"
#include "attn/core/steps/projection.hpp"
#include "attn/core/steps/qk_norm.hpp"
#include "attn/core/steps/rope_scaling.hpp"
#include "attn/core/steps/rotary.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/ground/random/generator.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

struct AttentionFile;
struct ExampleFile;

/// The projections of x to query, key and value: storage and order of the draws.
enum class Projection {
    split,          ///< one Linear each, (heads * head_dim, embed_dim)
    fused,          ///< one Linear, features ordered q | k | v, heads within each
    fused_by_head,  ///< one Linear, features ordered head by head, q | k | v within each
    matrix,         ///< plain (head_dim, embed_dim) matrices, one head
    stacked,        ///< a leading head axis on each matrix; all heads of q drawn first, then k, v
    per_head,       ///< per head: its own q, k, v matrices
    mha,            ///< PyTorch's nn.MultiheadAttention with its output projection
    none,           ///< query, key and value are drawn, given, or x itself
};

/// Zeros and the identity draw nothing: with zeros for the query all keys have the same weight,
/// with the identity for the value, values are x itself.
enum class Init { linear, uniform, normal, zeros, identity };
/// Loops that read like the formulas; whole arrays; or blocks of keys, without T x T tensors.
enum class Variant { loop, vectorized, fused };
enum class SoftmaxAxis { key, query, head, batch };
enum class Distribution { uniform, normal };

/// Token ids, and their words if the source is text.
struct Tokens {
    std::vector<std::vector<std::int64_t>> sequences;
    std::vector<std::string> vocabulary;  ///< word by id; empty if there are only ids
    std::optional<std::int64_t> vocab_size;
    std::optional<std::int64_t> pad_id;
    bool batch_axis = false;  ///< present even for one sequence
    /// Names of the tokens of each sequence in a model; empty: the words above, or the ids.
    std::vector<std::vector<std::string>> labels{};
    /// Each row of the embedding is drawn with a seed of its own, computed from the row's word: a
    /// word has the same vector in all texts.
    bool by_word = false;
    /// A model has computed x from them: x, token_embedding and possibly position_embedding are
    /// given.
    bool embedded = false;
};

/// x (or memory) drawn directly.
struct RandomInput {
    Distribution distribution = Distribution::normal;
};

/// The source of x or memory: token ids, random numbers, or a given tensor (tokens, features) or
/// (batch, tokens, features).
using Source = std::variant<Tokens, RandomInput, Tensor>;

/// The divisor (or, as a number, the factor) of the scores.
struct ScaleChoice {
    enum class By { head_dim, embed_dim, none, number };
    By by = By::head_dim;
    double number = 1;  ///< the factor for By::number
};

/// A bias of the scores by the positions of query and key.
struct PositionBias {
    enum class Kind { alibi, t5, file };
    Kind kind = Kind::alibi;
    std::int64_t buckets = 32;        ///< T5: number of relative-position buckets
    std::int64_t max_distance = 128;  ///< T5: all larger distances share the last bucket
    std::optional<Tensor> given;      ///< broadcastable to the scores
};

/// A window with gaps: `keys` keys, the query's own first, at distances of `dilation` tokens.
struct DilatedWindow {
    std::int64_t keys, dilation;
};

/// The hidden cells: the kinds of mask (`mask_kinds.hpp`) and their numbers.
struct MaskChoice {
    bool causal = false;
    bool padding = false;
    std::optional<std::int64_t> window;  ///< keys that a query sees, including its own
    std::optional<DilatedWindow> dilated{};
    std::optional<std::int64_t> chunk;    ///< tokens of one chunk
    std::optional<std::int64_t> prefix;   ///< tokens that every query sees; the others are causal
    std::vector<std::int64_t> documents;  ///< tokens of each; may be empty
    std::optional<Tensor> given;          ///< bool, true = hidden, broadcastable to the scores

    bool any() const;
    /// True if the causal condition alone hides all later keys from queries.
    bool is_causal() const { return causal && !prefix; }
};

/// Rotary positions: pairs of query and key features are rotated by an angle per position.
struct Rotary {
    std::optional<Pairing> pairing;   ///< unset: no rotation
    double theta = 10000;             ///< angles are positions divided by its powers
    std::optional<std::int64_t> dim;  ///< rotated features per head; default head_dim
    std::optional<RopeScaling> scaling{};
};

/// The logit of each head in the denominator of softmax, without a value: 0, drawn, or a given
/// parameter.
enum class SinkLogit { zero, normal, given };

/// Norms of query and key.
struct QkNorm {
    enum class Place { before, after };
    std::optional<NormOver> over;  ///< unset: no norms
    Place place = Place::before;   ///< relative to the rotation
    double eps = 1e-6;
};

/// Differential attention: two softmaxes per head of values; the second is subtracted from the
/// first.
struct Differential {
    std::optional<std::int64_t> depth;  ///< index of the layer; unset: one softmax per head
};

/// Dropout, as in training: cells set to 0 with probability p, the others divided by 1 - p.
struct Dropout {
    enum class Place { weights, context, output };
    double p = 0;  ///< 0: no dropout
    Place place = Place::weights;
    std::optional<std::uint64_t> seed{};  ///< by default that of the walk
    std::optional<Tensor> keep{};         ///< given: 1 or true keeps a cell; broadcast to the place

    /// The probability that a cell is kept.
    double share() const { return 1 - p; }
    /// The name of the mask in the walk.
    std::string keep_name() const {
        return place == Place::weights   ? "keep"
               : place == Place::context ? "keep_context"
                                         : "keep_output";
    }
};

/// Multi-head latent attention (MLA): the keys and values of all heads are computed from one latent
/// per token, which is all that a cache keeps.
struct Latent {
    std::optional<std::int64_t> rank;        ///< features of the latent; unset: no latent
    std::optional<std::int64_t> query_rank;  ///< features of the queries' latent; unset: none
    bool absorbed = false;  ///< queries are multiplied with the latent itself, as key and value
};

/// The vector that is added to each token by its position: a row of a table, or a fixed pattern.
enum class PositionEmbedding { learned, sinusoidal };

/// Numbers that are drawn and discarded.
struct Burn {
    Distribution distribution;
    std::size_t count;
};

/// All settings of a walk. Unset ones are derived by `resolve`.
struct WalkConfig {
    Source input = RandomInput{};
    std::optional<Source> memory;  ///< second source, of key and value
    std::optional<std::int64_t> batch;
    std::optional<std::int64_t> query_len;  ///< for a drawn input; default 4
    std::optional<std::int64_t> key_len;    ///< for a drawn memory
    std::vector<std::int64_t> lengths;      ///< true lengths of the key sequences; may be empty
    /// Names of the tokens of x (or memory), per sequence or one list for all: `_` keeps the word,
    /// the id or the number. Empty without other names.
    std::vector<std::vector<std::string>> names, memory_names;
    /// The example with x and the parameters; null for none.
    std::shared_ptr<const ExampleFile> example{};
    /// Names of features, by the tensor: x, query, key, value. Those of all heads are concatenated.
    std::map<std::string, std::vector<std::string>> feature_names{};

    std::optional<std::int64_t> embed_dim;  ///< default heads * head_dim
    std::int64_t heads = 1;
    std::optional<std::int64_t> kv_heads;    ///< heads of key and value; default heads
    std::optional<std::int64_t> head_dim;    ///< default embed_dim / heads, or 4 without embed_dim
    std::optional<std::int64_t> value_dim;   ///< per head; default head_dim
    std::optional<std::int64_t> output_dim;  ///< default embed_dim
    Projection projection = Projection::split;
    std::optional<std::array<Init, 3>> init;  ///< for q, k, v; default linear (NumPy: normal)
    bool bias = false;
    std::string draw_order = "qkv";
    std::optional<WeightLayout> weight_layout;  ///< default out_in (NumPy: in_out)
    bool output_projection = false;
    bool output_bias = false;
    std::optional<bool> merge;  ///< default: true unless stacked or per_head without output
    Ledger parameters;          ///< given parameters by name; the rest is drawn
    /// The source of the given parameters, for the record: a file, and a model's layer in it.
    std::string weights_file, model;
    std::int64_t layer = 0;

    /// Changes of a trained model's layer, as flags; the unchanged settings of that layer; and the
    /// file of the model whose layer (above) this is. All empty without a model.
    std::string changes;
    std::shared_ptr<const WalkConfig> models_own;
    std::string model_file;

    std::optional<NormKind> x_norm;  ///< of x, before the projections
    double x_norm_eps = 1e-5;        ///< added to the mean square, to keep it above 0

    std::optional<PositionEmbedding> position_embedding;
    std::optional<std::int64_t> position_rows;  ///< of a learned table; default: as many as needed
    QkNorm qk_norm;
    Rotary rotary;
    Latent latent;
    Differential differential;
    std::vector<std::int64_t> positions;         ///< of the tokens of x; default 0, 1, 2, ...
    std::vector<std::int64_t> memory_positions;  ///< of the tokens of memory; the same

    MaskChoice mask;
    CausalAlign causal_align = CausalAlign::start;
    EmptyRow empty_row = EmptyRow::nan;
    ScaleChoice scale;
    double softcap = 0;  ///< bounds the scores by tanh; 0: no bound
    std::optional<PositionBias> position_bias;
    SoftmaxAxis softmax_axis = SoftmaxAxis::key;
    bool sigmoid = false;              ///< weights are the sigmoid of scores: rows do not sum to 1
    std::optional<SinkLogit> sink;     ///< unset: softmax over the keys only
    std::optional<std::int64_t> past;  ///< number of keys and values before those of x
    Dropout dropout;
    std::optional<std::int64_t> prefill;  ///< tokens of a chunk; unset: all tokens at once

    /// Rules of the user (attn/core/rules/rule.hpp) in place of steps.
    std::vector<std::string> rules;
    /// Attention files (attn/core/plan/attention_file.hpp), in the order of the walk, the form to
    /// walk, and numbers for their settings.
    std::vector<std::shared_ptr<const AttentionFile>> attentions;
    std::string form;
    std::vector<std::pair<std::string, double>> attention_settings;

    Rng rng = Rng::torch;
    std::uint64_t seed = 42;
    TorchBuild torch_build = TorchBuild::avx2;
    std::int64_t redraw = 0;
    std::vector<Burn> burn_before;  ///< before anything is drawn
    std::vector<Burn> burn;         ///< between the input and the projections
    std::optional<DType> dtype;     ///< of drawn and loaded tensors; default float32 (NumPy: 64)
    std::optional<DType> compute_dtype;  ///< of the computation; default dtype

    Variant variant = Variant::vectorized;
    bool single_chain = false;  ///< loop: one chain each for the products of scores and context
    int threads = 0;            ///< 0: all cores for large work, one otherwise
};

/// Refuses values that flags cannot have, but that a program may set directly. All optional
/// enumerations must be set.
///
/// Errors  ConfigError naming the setting.
void refuse_unknown_values(const WalkConfig& config);

}  // namespace attn
