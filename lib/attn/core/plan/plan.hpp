#pragma once
#include "attn/core/plan/config.hpp"
#include "attn/core/steps/arithmetic.hpp"
#include "attn/core/steps/scaling.hpp"

namespace attn {

/// A configuration with all defaults filled in, all sizes known and without contradictions. All
/// code below the flags uses this.
struct Plan {
    WalkConfig config;  ///< all optional members set

    bool has_batch = false;
    bool has_head = false;
    bool has_memory = false;
    std::size_t batch = 1;
    std::size_t query_len = 0;
    std::size_t key_len = 0;   ///< of all keys: those of the past and those of x (or memory)
    std::size_t past_len = 0;  ///< keys and values of earlier tokens
    /// The position of the first query, for a walk of some rows (attn/core/walk/parts.hpp). Unset:
    /// determined by the alignment of the causal mask.
    std::optional<std::ptrdiff_t> first_query;
    std::size_t embed_dim = 0;
    std::size_t memory_dim = 0;  ///< features of memory; embed_dim without one
    std::size_t heads = 1;       ///< of queries and scores; two per head of differential values
    std::size_t kv_heads = 1;    ///< heads of key
    std::size_t head_dim = 0;    ///< features of a query; with a latent the rotated ones come last
    std::size_t value_dim = 0;
    std::size_t output_dim = 0;

    DType dtype = DType::float32;
    DType compute_dtype = DType::float32;
    /// Returns the dtype that PyTorch prints without a suffix in this walk: 16 bits always have
    /// one.
    DType default_dtype() const {
        return is_16_bit(compute_dtype) ? DType::float32 : compute_dtype;
    }
    /// Returns the bytes per number of its tensors, which store 16-bit types as float32.
    double number_bytes() const { return compute_dtype == DType::float64 ? 8 : 4; }
    bool merges = true;
    ScaleFactor scale;                ///< divide by 1 if there is no scaling
    Arithmetic arithmetic;            ///< of the projections
    Arithmetic attention_arithmetic;  ///< of scores and context

    /// Words (or ids) at each query and key position; empty if the input has no tokens.
    std::vector<std::vector<std::string>> query_tokens;
    std::vector<std::vector<std::string>> key_tokens;
    /// (batch, key_len) or (key_len), true at padding; empty without a padding mask.
    Array<bool> key_padding;

    /// The source of query, key and value: x, or its norm.
    std::string projected_x() const { return config.x_norm ? "normed_x" : "x"; }
    bool adds_positions() const { return config.position_embedding.has_value(); }
    bool norms() const { return config.qk_norm.over.has_value(); }
    /// True if the norms of query and key have a gain per feature.
    bool has_gains() const { return norms() && config.qk_norm.over != NormOver::l2; }
    bool rotates() const { return config.rotary.pairing.has_value(); }
    /// Returns the number of rotated pairs of features per head.
    std::size_t rotary_pairs() const { return static_cast<std::size_t>(*config.rotary.dim) / 2; }
    /// Returns the number of tokens up to the last position.
    std::int64_t rotary_tokens() const;
    /// Returns the base of the frequencies: theta, or the scaled one for these positions.
    double rotary_base() const;
    /// Returns the factor of cosines and sines.
    double rotary_factor() const {
        return config.rotary.scaling ? config.rotary.scaling->cosine_factor() : 1;
    }
    /// Returns the first rotated feature in rows of that width.
    std::size_t first_rotated(std::size_t width) const {
        return has_latent() ? width - 2 * rotary_pairs() : 0;
    }
    /// True if one softmax of each pair of heads is subtracted from the other.
    bool differs() const { return config.differential.depth.has_value(); }
    /// Returns the number of heads of scores per head of context.
    std::size_t softmaxes() const { return differs() ? 2 : 1; }
    /// Returns the initial lambda of this layer, the share of the second softmax.
    double lambda_init() const;
    bool has_latent() const { return config.latent.rank.has_value(); }
    /// True if queries are multiplied with the latents themselves.
    bool absorbs() const { return has_latent() && config.latent.absorbed; }
    std::size_t latent_rank() const { return static_cast<std::size_t>(*config.latent.rank); }
    /// Returns the features of a key, and those of a value: of the latents if these are used
    /// instead.
    std::size_t key_dim() const {
        return absorbs() ? latent_rank() + 2 * rotary_pairs() : head_dim;
    }
    std::size_t mixed_dim() const { return absorbs() ? latent_rank() : value_dim; }
    /// Returns the heads of value, and those of the context.
    std::size_t value_heads() const { return kv_heads / softmaxes(); }
    std::size_t context_heads() const { return heads / softmaxes(); }
    /// Returns the factor of scores in addition to the scale: 1, except with yarn and a latent.
    double score_factor() const;
    bool scales() const { return config.scale.by != ScaleChoice::By::none; }
    bool caps() const { return config.softcap > 0; }
    bool biases() const { return config.position_bias.has_value(); }
    bool masks() const { return config.mask.any(); }
    /// True if attention is computed block by block, without scores and weights.
    bool fused() const { return config.variant == Variant::fused; }
    /// True if it is small enough to show block by block.
    bool traces_blocks() const;
    /// Returns the keys per block if blocks are shown: three blocks, with two corrections.
    std::size_t key_block() const { return (key_len + 2) / 3; }
    /// True if several heads of queries share keys and values.
    bool shares_keys() const { return kv_heads < heads; }
    /// Returns the number of query heads per key head: head h reads h / queries_per_key().
    std::size_t queries_per_key() const { return heads / kv_heads; }
    /// Returns the number of keys made from x (or memory).
    std::size_t new_keys() const { return key_len - past_len; }
    bool has_sink() const { return config.sink.has_value(); }
    bool drops() const { return config.dropout.p > 0; }
    bool drops(Dropout::Place place) const { return drops() && config.dropout.place == place; }
    bool has_x() const;                ///< false if query, key and value are drawn directly
    bool one_weight() const;           ///< query, key and value share w_qkv
    bool head_axis_on_weight() const;  ///< stacked and per_head matrices
    /// Returns the axes of a tensor with one matrix per batch and head: `rows`, `columns` last.
    Axes per_head_axes(std::string rows, std::string columns) const;
    /// Returns the axes of a tensor with one matrix per batch.
    Axes per_batch_axes(std::string rows, std::string columns) const;
    /// Returns `sizes` preceded by the batch and head lengths that exist; the number of heads is by
    /// default that of the queries.
    Shape per_head_shape(std::size_t rows, std::size_t columns) const;
    Shape per_head_shape(std::size_t rows, std::size_t columns, std::size_t of_heads) const;
    Shape per_batch_shape(std::size_t rows, std::size_t columns) const;
    /// Returns the number of feature columns of w_qkv's output, and the columns of `part` (0 query,
    /// 1 key, 2 value), head by head.
    std::size_t qkv_features() const {
        return (heads + kv_heads) * head_dim + value_heads() * value_dim;
    }
    std::vector<std::size_t> fused_features(std::size_t part) const;
};

/// Fills in all defaults and checks that the settings fit together.
///
/// Errors  ConfigError or ShapeError, naming the settings and what to change; also if the walk
///         would need more memory than the machine has.
Plan resolve(WalkConfig config);
/// Resolves it before its tokens have names.
Plan resolve_unnamed(WalkConfig config);

/// Changes a plan with a past to the `tokens` after `past` earlier ones; the names of the tokens
/// are kept.
///
/// Why  a model that generates needs another plan for every token, and nothing else changes.
void move_on(Plan& plan, std::size_t past, std::size_t tokens);

/// Returns the parameters of a walk, given or drawn, in the order of the draws; also query, key and
/// value if they are drawn directly.
///
/// Errors  ConfigError as resolve(), about the draws of parameters.
std::vector<std::string> parameter_names(WalkConfig config);

/// Tokens that go through the cache together: `count` from `first` on.
struct PrefillChunk {
    std::size_t first = 0, count = 0;
};

/// Returns the tokens of x in chunks of config.prefill; a single chunk without it.
std::vector<PrefillChunk> prefill_chunks(const Plan& plan);

}  // namespace attn
