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

/// How query, key and value come from x, and how their parameters are stored and drawn.
enum class Projection {
    split,          ///< one Linear each, (heads * head_dim, embed_dim)
    fused,          ///< one Linear, features ordered q | k | v, heads within each
    fused_by_head,  ///< one Linear, features ordered head by head, q | k | v within each
    matrix,         ///< plain (head_dim, embed_dim) matrices, one head
    stacked,        ///< a leading head axis on each matrix; all heads of q drawn first, then k, v
    per_head,       ///< for each head in turn its own q, k, v matrices
    mha,            ///< PyTorch's nn.MultiheadAttention with its output projection
    none,           ///< query, key and value are drawn, given, or x itself
};

/// Zeros and the identity draw nothing: with zeros for query every key weighs the same, with the
/// identity for value it is x itself.
enum class Init { linear, uniform, normal, zeros, identity };
/// loops that read like the formulas; whole arrays; or blocks of keys, without the T x T steps
enum class Variant { loop, vectorized, fused };
enum class SoftmaxAxis { key, query, head, batch };
enum class Distribution { uniform, normal };

/// Token ids, and the words they stand for where the source was text.
struct Tokens {
    std::vector<std::vector<std::int64_t>> sequences;
    std::vector<std::string> vocabulary;  ///< word of each id; empty when there are only ids
    std::optional<std::int64_t> vocab_size;
    std::optional<std::int64_t> pad_id;
    bool batch_axis = false;  ///< present even for one sequence
    /// Names of each token of each sequence in a model; empty: the words above, or the ids.
    std::vector<std::vector<std::string>> labels{};
    /// Every row of the embedding is drawn from a seed of its own, made of the row's word: a word
    /// has the same vector in every text.
    bool by_word = false;
    /// A model has made x of them: x, token_embedding and perhaps position_embedding are given.
    bool embedded = false;
};

/// x (or memory) drawn directly.
struct RandomInput {
    Distribution distribution = Distribution::normal;
};

/// Where x or memory comes from: token ids, draws, or a given tensor (tokens, features) or
/// (batch, tokens, features).
using Source = std::variant<Tokens, RandomInput, Tensor>;

/// The divisor (or, as a number, the factor) of the scores.
struct ScaleChoice {
    enum class By { head_dim, embed_dim, none, number };
    By by = By::head_dim;
    double number = 1;  ///< the factor for By::number
};

/// A number that is added to each score for where query and key are.
struct PositionBias {
    enum class Kind { alibi, t5, file };
    Kind kind = Kind::alibi;
    std::int64_t buckets = 32;        ///< of T5: how many distances its table tells apart
    std::int64_t max_distance = 128;  ///< of T5: from here on all share the last bucket
    std::optional<Tensor> given;      ///< broadcastable to the scores
};

/// A window with gaps: so many keys, the query's own first, each so many tokens from the next.
struct DilatedWindow {
    std::int64_t keys, apart;
};

/// Which cells are hidden: the kinds of mask (`mask_kinds.hpp`) and their numbers.
struct MaskChoice {
    bool causal = false;
    bool padding = false;
    std::optional<std::int64_t> window;  ///< keys that a query sees, with its own
    std::optional<DilatedWindow> dilated{};
    std::optional<std::int64_t> chunk;    ///< tokens of one chunk
    std::optional<std::int64_t> prefix;   ///< tokens that every query sees; the others are causal
    std::vector<std::int64_t> documents;  ///< tokens of each; may be empty
    std::optional<Tensor> given;          ///< bool, true = hidden, broadcastable to the scores

    bool any() const;
    /// Whether no query sees a later key, for all that causal says.
    bool is_causal() const { return causal && !prefix; }
};

/// Rotary positions: pairs of features of query and key rotate by an angle for each position.
struct Rotary {
    std::optional<Pairing> pairing;   ///< unset: nothing rotates
    double theta = 10000;             ///< its powers divide the position: the angles
    std::optional<std::int64_t> dim;  ///< features of a head that rotate; default head_dim
    std::optional<RopeScaling> scaling{};
};

/// The logit of each head that joins the denominator of softmax and has no value: 0, drawn, or
/// among the given parameters.
enum class SinkLogit { zero, normal, given };

/// Norms of query and key.
struct QkNorm {
    enum class Place { before, after };
    std::optional<NormOver> over;  ///< unset: there are none
    Place place = Place::before;   ///< the rotation
    double eps = 1e-6;
};

/// Differential attention: two softmaxes for each head of values, of which the second is taken from
/// the first.
struct Differential {
    std::optional<std::int64_t> depth;  ///< number of the layer, from 0; unset: one softmax a head
};

/// Dropout, as in training: cells set to 0 with probability p, the others divided by 1 - p.
struct Dropout {
    enum class Place { weights, context, output };
    double p = 0;  ///< 0: there is none
    Place place = Place::weights;
    std::optional<std::uint64_t> seed{};  ///< of its draws; default that of the walk
    std::optional<Tensor> keep{};         ///< given: 1 or true keeps; broadcasts to the place

    /// The probability that a cell is kept.
    double share() const { return 1 - p; }
    /// The name of the mask in the walk.
    std::string keep_name() const {
        return place == Place::weights   ? "keep"
               : place == Place::context ? "keep_context"
                                         : "keep_output";
    }
};

/// Multi-head latent attention: keys and values of all heads are made from one short row for each
/// token, the latent, which is all that a cache keeps.
struct Latent {
    std::optional<std::int64_t> rank;        ///< features of the latent; unset: there is none
    std::optional<std::int64_t> query_rank;  ///< of the latent of the queries; unset: there is none
    bool absorbed = false;  ///< queries meet the latent itself, in the place of keys and values
};

/// The vector that is added to each token for its position: a row of a table, or a fixed pattern.
enum class PositionEmbedding { learned, sinusoidal };

/// Draws that are spent and not used.
struct Burn {
    Distribution distribution;
    std::size_t count;
};

/// Everything a walk depends on. What is left unset is derived by `resolve`.
struct WalkConfig {
    Source input = RandomInput{};
    std::optional<Source> memory;  ///< second source: key and value come from it
    std::optional<std::int64_t> batch;
    std::optional<std::int64_t> query_len;  ///< for a drawn input; default 4
    std::optional<std::int64_t> key_len;    ///< for a drawn memory
    std::vector<std::int64_t> lengths;      ///< true lengths of the key sequences; may be empty
    /// Names of the tokens of x (or memory), for each sequence or one list for all: `_`
    /// leaves the word, the id or the number that is there. Empty where they have no other names.
    std::vector<std::vector<std::string>> names, memory_names;
    /// The example that x and the parameters are from; null for none.
    std::shared_ptr<const ExampleFile> example{};
    /// Names of features, by what has them: x, query, key, value. Those of all heads follow one
    /// another.
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
    /// Where the given parameters came from, for the record: a file, and a model's layer in it.
    std::string weights_file, model;
    std::int64_t layer = 0;

    /// The trained model whose layer (above) this is; empty without one.
    /// Changes of a trained model's layer, as flags, and the settings of that layer
    /// itself.
    std::string changes;
    std::shared_ptr<const WalkConfig> models_own;
    std::string model_file;

    std::optional<NormKind> x_norm;  ///< of x, in front of the projections
    double x_norm_eps = 1e-5;        ///< added to the mean square, so that none is 0

    std::optional<PositionEmbedding> position_embedding;
    std::optional<std::int64_t> position_rows;  ///< of a learned table; default as many as needed
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
    double softcap = 0;  ///< bounds the scores by tanh; 0 does not
    std::optional<PositionBias> position_bias;
    SoftmaxAxis softmax_axis = SoftmaxAxis::key;
    bool sigmoid = false;  ///< a weight is the sigmoid of its score: no softmax, no sum of 1
    std::optional<SinkLogit> sink;     ///< unset: softmax over the keys alone
    std::optional<std::int64_t> past;  ///< keys and values that are there before those of x
    Dropout dropout;
    std::optional<std::int64_t> prefill;  ///< tokens of a chunk; unset: all tokens at once

    /// Rules of the user (attn/core/rules/rule.hpp) in the place of steps.
    std::vector<std::string> rules;
    /// Attention files (attn/core/plan/attention_file.hpp), in the order of the walk, which of
    /// their forms is walked, and numbers for their settings.
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
    std::optional<DType> compute_dtype;  ///< of the arithmetic; default dtype

    Variant variant = Variant::vectorized;
    bool single_chain = false;  ///< loop: the products of scores and context in a single chain each
    int threads = 0;            ///< 0: all cores for large work, one for small
};

/// Refuses what no flag can say, but a program that fills the settings in itself. All optional
/// words of types are set.
///
/// Errors  ConfigError naming the setting.
void refuse_unknown_values(const WalkConfig& config);

}  // namespace attn
