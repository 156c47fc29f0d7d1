#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/attention_shape.hpp"

namespace attn {

struct FusedOptions {
    /// Multiplies every score.
    double scale = 1.0;
    /// Bounds the scaled scores by tanh; 0: no bound.
    double softcap = 0;
    MaskView mask;
    EmptyRow empty_row = EmptyRow::nan;
    /// One logit per head that joins its softmax with a value of zero; empty without a sink.
    std::span<const double> sink;
    /// At most this many threads; 0: one per core. Small work uses one thread.
    std::size_t threads = 0;
    InstructionSet instruction_set = InstructionSet::automatic;
};

/// Computes attention without the matrix of weights: only one block of scores exists at a time.
///
///     context(q) = sum over k of w(q,k) value(k);   w = softmax over keys of s(q,k)
///     s(q,k) = scale * query(q) . key(k), then capped, then + bias(q,k), then hidden
///
/// The keys are read once, block by block. Each query keeps a running maximum m, a running sum l of
/// exponentials and a running context o. If a block raises the maximum, the earlier results are
/// rescaled by the same factor, so that the final result is the softmax over all keys:
///
///     m' = max(m, max over the block of s(q,k))
///     c  = exp(m - m')
///     l' = c l + sum over the block of exp(s(q,k) - m')
///     o' = c o + sum over the block of exp(s(q,k) - m') value(k)
///
/// A sink counts as a key that all queries have read before the first block: m = s, l = 1, o = 0.
/// Dropout does not change l: only in o is each exponential multiplied by `keep`, 1 or 0. The
/// caller divides the context by the share that is kept.
///
/// Shapes  query (batch, head, query_len, head_dim), key (batch, kv_head, key_len, head_dim),
///         value (batch, kv_head, key_len, value_dim), context (batch, head, query_len,
///         value_dim), keep null or (batch, head, query_len, key_len). Grouped keys and values are
///         read where they are, not repeated.
/// Range   agrees with softmax over the whole row to rounding. The digits depend on the instruction
///         set, but not on the number of threads. A hidden key has weight exactly 0; fully hidden
///         key blocks are not read, so that nan or inf in them does not reach the result.
/// Errors  ConfigError if this processor lacks the instruction set, and for EmptyRow::error: the
///         kernel fills fully masked rows, but does not report them.
/// Source  Milakov & Gimelshein 2018: the running maximum and sum.
///         Rabe & Staats 2021: attention in little memory.
///         Dao et al. 2022: blocks that stay in cache.
void fused_attention(const float* query, const float* key, const float* value, float* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<float>& bias = {}, const float* keep = nullptr);
void fused_attention(const double* query, const double* key, const double* value, double* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<double>& bias = {}, const double* keep = nullptr);

/// The effect of one block of keys on one block of queries. Numbers per query are indexed by its
/// place in the block, cells by (query, key) and features by (query, feature), in row-major order.
struct FusedBlock {
    std::size_t first_query, queries;
    std::size_t first_key, keys;
    /// All cells are hidden: the block was not computed, and the numbers below are unchanged.
    bool skipped;

    std::vector<double> scores;          ///< scaled; -inf if hidden; empty if skipped
    std::vector<double> exponentials;    ///< exp(score - maximum); empty if skipped
    std::vector<double> maximum_before;  ///< -inf before the first visible key
    std::vector<double> maximum;
    std::vector<double> correction;  ///< exp(maximum_before - maximum)
    std::vector<double> sum;         ///< of all exponentials so far, relative to `maximum`
    std::vector<double> context;     ///< of all blocks so far, not divided by `sum` yet
};

struct FusedTrace {
    std::vector<FusedBlock> blocks;  ///< by query block, then key block
    std::vector<double> context;     ///< (query, feature): the last of each block over its sum
};

/// Computes the algorithm of fused_attention for one head in plain loops, with all intermediate
/// results.
///
/// Shapes  query (query_len, head_dim), key (key_len, head_dim), value (key_len, value_dim); batch
///         and heads of `shape` are 1. Ignores the options for threads and instruction set.
/// Range   computed in the type of the arguments; the context agrees with fused_attention to
///         rounding, whatever the sizes of the blocks.
/// Errors  ShapeError if shape has more than one head, ConfigError if a block size is 0.
FusedTrace fused_trace(const float* query, const float* key, const float* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block,
                       const BiasView<float>& bias = {}, const float* keep = nullptr);
FusedTrace fused_trace(const double* query, const double* key, const double* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block,
                       const BiasView<double>& bias = {}, const double* keep = nullptr);

}  // namespace attn
