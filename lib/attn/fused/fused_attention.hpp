#pragma once
#include <cstddef>

#include "attn/simd/architecture.hpp"

namespace attn {

/// The sizes of one attention. Arrays are contiguous in the order (batch, head, position, feature).
struct FusedShape {
    std::size_t batch = 1;
    std::size_t heads = 1;
    std::size_t query_len = 0;
    std::size_t key_len = 0;
    std::size_t head_dim = 0;
    std::size_t value_dim = 0;
};

/// Which keys a query may not see. What is hidden by any of the three parts is hidden.
struct FusedMask {
    /// Key k is visible to query q when k <= q + causal_offset.
    bool causal = false;
    std::ptrdiff_t causal_offset = 0;

    /// Null, or one length for each batch entry: its keys from that position on are padding.
    const std::size_t* key_lengths = nullptr;

    /// Null, or cells that are true where a key is hidden. A stride of 0 repeats the cell along
    /// that axis, as broadcasting does.
    const bool* hidden = nullptr;
    std::size_t batch_stride = 0;
    std::size_t head_stride = 0;
    std::size_t query_stride = 0;
    std::size_t key_stride = 0;
};

/// What a query that may see no key at all receives.
enum class FusedEmptyRow { nan, zero };

struct FusedOptions {
    /// Multiplies every score.
    double scale = 1.0;
    FusedMask mask;
    FusedEmptyRow empty_row = FusedEmptyRow::nan;
    /// At most this many threads; 0 is one for each core. Small work keeps to one whatever is said.
    std::size_t threads = 1;
    FusedArchitecture architecture = FusedArchitecture::automatic;
};

/// Attention without its matrix of weights: no more than one block of scores exists at a time.
///
///     context(q) = sum over k of w(q,k) value(k);   w = softmax over keys of scale * query . key
///
/// The keys are read once, block by block. Each query keeps a running maximum m, a running sum l of
/// exponentials and a running context o. When a block raises the maximum, what was gathered before
/// is corrected by one factor, so that the end is the softmax over all keys:
///
///     m' = max(m, max over the block of s);   c = exp(m - m')
///     l' = c l + sum over the block of exp(s - m');   o' = c o + sum over the block of exp(s - m')
///     v
///
/// Shapes  query (batch, head, query_len, head_dim), key (batch, head, key_len, head_dim),
///         value (batch, head, key_len, value_dim), context (batch, head, query_len, value_dim).
/// Range   agrees with softmax over the whole row to rounding. The digits depend on the instruction
///         set, never on the number of threads. A hidden key weighs exactly 0; key blocks that are
///         wholly hidden are not read, so that nan or inf in them does not reach the result.
/// Errors  ShapeError when a key length exceeds key_len; ConfigError when this processor lacks the
///         architecture asked for.
/// Source  Milakov & Gimelshein 2018 (the running maximum and sum), Rabe & Staats 2021 (attention
/// in
///         little memory), Dao et al. 2022 (blocks that stay in cache).
void fused_attention(const float* query, const float* key, const float* value, float* context,
                     const FusedShape& shape, const FusedOptions& options);
void fused_attention(const double* query, const double* key, const double* value, double* context,
                     const FusedShape& shape, const FusedOptions& options);

}  // namespace attn
