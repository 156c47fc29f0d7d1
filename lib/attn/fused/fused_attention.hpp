#pragma once
#include <cstddef>
#include <span>

#include "attn/simd/kernels.hpp"
#include "attn/tensor/attention_shape.hpp"

namespace attn {

struct FusedOptions {
    /// Multiplies every score.
    double scale = 1.0;
    /// Bounds the scaled scores by tanh; 0 does not.
    double softcap = 0;
    MaskView mask;
    EmptyRow empty_row = EmptyRow::nan;
    /// One logit for each head that joins its softmax with a value of zero; empty without.
    std::span<const double> sink;
    /// At most this many threads; 0: one for each core. Small work keeps to one.
    std::size_t threads = 0;
    InstructionSet instruction_set = InstructionSet::automatic;
};

/// Attention without its matrix of weights: no more than one block of scores exists at a time.
///
///     context(q) = sum over k of w(q,k) value(k);   w = softmax over keys of s(q,k)
///     s(q,k) = scale * query(q) . key(k), then capped, then + bias(q,k), then hidden
///
/// The keys are read once, block by block. Each query keeps a running maximum m, a running sum l of
/// exponentials and a running context o. When a block raises the maximum, what was gathered before
/// is corrected by one factor, so that the end is the softmax over all keys:
///
///     m' = max(m, max over the block of s(q,k))
///     c  = exp(m - m')
///     l' = c l + sum over the block of exp(s(q,k) - m')
///     o' = c o + sum over the block of exp(s(q,k) - m') value(k)
///
/// A sink counts as a key that all queries have read before the first block: m = s, l = 1, o = 0.
///
/// Shapes  query (batch, head, query_len, head_dim), key (batch, kv_head, key_len, head_dim),
///         value (batch, kv_head, key_len, value_dim), context (batch, head, query_len,
///         value_dim). Grouped keys and values are read where they are, not repeated.
/// Range   agrees with softmax over the whole row to rounding. The digits depend on the instruction
///         set, never on the number of threads. A hidden key weighs exactly 0; key blocks that are
///         wholly hidden are not read, so that nan or inf in them does not reach the result.
/// Errors  ConfigError when this processor lacks the instruction set, and for EmptyRow::error:
///         the kernel fills fully masked rows, it does not look for them.
/// Source  Milakov & Gimelshein 2018: the running maximum and sum.
///         Rabe & Staats 2021: attention in little memory.
///         Dao et al. 2022: blocks that stay in cache.
void fused_attention(const float* query, const float* key, const float* value, float* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<float>& bias = {});
void fused_attention(const double* query, const double* key, const double* value, double* context,
                     const AttentionShape& shape, const FusedOptions& options,
                     const BiasView<double>& bias = {});

}  // namespace attn
