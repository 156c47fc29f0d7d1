#pragma once
#include "attn/core/plan/config.hpp"
#include "attn/core/steps/arithmetic.hpp"
#include "attn/core/steps/scaling.hpp"

namespace attn {

/// A configuration with every default filled in, every size known and every contradiction ruled
/// out. Everything below the flags reads this.
struct Plan {
    WalkConfig config;  ///< all optional members set

    bool has_batch = false;
    bool has_head = false;
    bool has_memory = false;
    std::size_t batch = 1;
    std::size_t query_len = 0;
    std::size_t key_len = 0;   ///< of all keys: those of the past and those of x (or memory)
    std::size_t past_len = 0;  ///< keys and values of earlier tokens
    /// Where the first query is among the keys: of some rows of a walk
    /// (attn/core/walk/parts.hpp). Unset, the alignment of the causal mask says it.
    std::optional<std::ptrdiff_t> first_query;
    std::size_t embed_dim = 0;
    std::size_t memory_dim = 0;  ///< features of memory; embed_dim without one
    std::size_t heads = 1;     ///< of queries and scores; two for each head of differential values
    std::size_t kv_heads = 1;  ///< heads of key
    std::size_t head_dim = 0;  ///< features of a query; with a latent those that rotate come last
    std::size_t value_dim = 0;
    std::size_t output_dim = 0;

    DType dtype = DType::float32;
    DType compute_dtype = DType::float32;
    /// What PyTorch prints without a note in a walk of this type: 16 bits are always noted.
    DType default_dtype() const {
        return is_16_bit(compute_dtype) ? DType::float32 : compute_dtype;
    }
    /// Bytes of a number in its tensors, which hold 16-bit types as float32.
    double number_bytes() const { return compute_dtype == DType::float64 ? 8 : 4; }
    bool merges = true;
    ScaleFactor scale;                ///< divide by 1 when there is no scaling
    Arithmetic arithmetic;            ///< of the projections
    Arithmetic attention_arithmetic;  ///< of scores and context

    /// Words (or ids) of each query and key position; empty when the input has no tokens.
    std::vector<std::vector<std::string>> query_tokens;
    std::vector<std::vector<std::string>> key_tokens;
    /// (batch, key_len) or (key_len), true at filled-up positions; empty without a padding mask.
    Array<bool> key_padding;

    /// The source of query, key and value: x, or its norm.
    std::string projected_x() const { return config.x_norm ? "normed_x" : "x"; }
    bool adds_positions() const { return config.position_embedding.has_value(); }
    bool norms() const { return config.qk_norm.over.has_value(); }
    /// Whether the norms of query and key have a gain for each feature.
    bool has_gains() const { return norms() && config.qk_norm.over != NormOver::l2; }
    bool rotates() const { return config.rotary.pairing.has_value(); }
    /// How many pairs of features of a head rotate.
    std::size_t rotary_pairs() const { return static_cast<std::size_t>(*config.rotary.dim) / 2; }
    /// How many tokens there are up to the last position.
    std::int64_t rotary_tokens() const;
    /// The base of the frequencies: theta, or what a scaling makes of it for these positions.
    double rotary_base() const;
    /// The factor of cosines and sines.
    double rotary_factor() const {
        return config.rotary.scaling ? config.rotary.scaling->cosine_factor() : 1;
    }
    /// The first feature that rotates in rows of so many.
    std::size_t first_rotated(std::size_t width) const {
        return has_latent() ? width - 2 * rotary_pairs() : 0;
    }
    /// Whether one softmax of each pair of heads is taken from the other.
    bool differs() const { return config.differential.depth.has_value(); }
    /// How many heads of scores make one head of context.
    std::size_t softmaxes() const { return differs() ? 2 : 1; }
    /// Where lambda, the share of the second softmax, starts in this layer.
    double lambda_init() const;
    bool has_latent() const { return config.latent.rank.has_value(); }
    /// Whether queries meet the latents themselves.
    bool absorbs() const { return has_latent() && config.latent.absorbed; }
    std::size_t latent_rank() const { return static_cast<std::size_t>(*config.latent.rank); }
    /// The features of a key, and those of a value: of the latents in their place, where there are.
    std::size_t key_dim() const {
        return absorbs() ? latent_rank() + 2 * rotary_pairs() : head_dim;
    }
    std::size_t mixed_dim() const { return absorbs() ? latent_rank() : value_dim; }
    /// The heads of value, and those that mix values.
    std::size_t value_heads() const { return kv_heads / softmaxes(); }
    std::size_t context_heads() const { return heads / softmaxes(); }
    /// The factor of scores beside the scale: 1, but with yarn and a latent.
    double score_factor() const;
    bool scales() const { return config.scale.by != ScaleChoice::By::none; }
    bool caps() const { return config.softcap > 0; }
    bool biases() const { return config.position_bias.has_value(); }
    bool masks() const { return config.mask.any(); }
    /// Whether attention goes block by block, without scores and weights.
    bool fused() const { return config.variant == Variant::fused; }
    /// Whether it is small enough to be followed block by block.
    bool traces_blocks() const;
    /// The keys of one block where the blocks are followed: three blocks, to see two corrections.
    std::size_t key_block() const { return (key_len + 2) / 3; }
    /// Whether several heads of queries read the same keys and values.
    bool shares_keys() const { return kv_heads < heads; }
    /// The heads that read one head of keys and values: head h reads h / queries_per_key().
    std::size_t queries_per_key() const { return heads / kv_heads; }
    /// The keys that x (or memory) makes.
    std::size_t new_keys() const { return key_len - past_len; }
    bool has_sink() const { return config.sink.has_value(); }
    bool drops() const { return config.dropout.p > 0; }
    bool drops(Dropout::Place place) const { return drops() && config.dropout.place == place; }
    bool has_x() const;                ///< false when query, key and value are drawn directly
    bool one_weight() const;           ///< query, key and value share w_qkv
    bool head_axis_on_weight() const;  ///< stacked and per_head matrices
    /// The axes of a tensor with one matrix for each batch and head: `rows`, `columns` last.
    Axes per_head_axes(std::string rows, std::string columns) const;
    /// The axes of a tensor with one matrix for each batch.
    Axes per_batch_axes(std::string rows, std::string columns) const;
    /// `sizes` preceded by the batch and head lengths that exist; the heads are those of the
    /// queries where nothing else is said.
    Shape per_head_shape(std::size_t rows, std::size_t columns) const;
    Shape per_head_shape(std::size_t rows, std::size_t columns, std::size_t of_heads) const;
    Shape per_batch_shape(std::size_t rows, std::size_t columns) const;
    /// The feature columns of w_qkv's output: all of them, and those that belong to `part` (0
    /// query, 1 key, 2 value), head by head.
    std::size_t qkv_features() const {
        return (heads + kv_heads) * head_dim + value_heads() * value_dim;
    }
    std::vector<std::size_t> fused_features(std::size_t part) const;
};

/// Fills in every default and checks that the settings fit together.
///
/// Errors  ConfigError or ShapeError, naming the settings and what to change; also when the walk
///         would need more memory than the machine has.
Plan resolve(WalkConfig config);
/// The same before its tokens have names.
Plan resolve_unnamed(WalkConfig config);

/// Makes a plan with a past that of the `tokens` after `past` earlier ones; the names of the
/// tokens stay as they are.
///
/// Why  a model that writes asks for the next plan at every token, and nothing else changes.
void move_on(Plan& plan, std::size_t past, std::size_t tokens);

/// The parameters of a walk so configured, which may be given or are drawn, in the order of the
/// draws; query, key and value where these are drawn directly.
///
/// Errors  ConfigError as resolve(), of how parameters are drawn.
std::vector<std::string> parameter_names(WalkConfig config);

/// Some tokens that go through the cache together: `count` from `first` on.
struct PrefillChunk {
    std::size_t first = 0, count = 0;
};

/// The tokens of x in chunks of config.prefill; one of all without it.
std::vector<PrefillChunk> prefill_chunks(const Plan& plan);

}  // namespace attn
