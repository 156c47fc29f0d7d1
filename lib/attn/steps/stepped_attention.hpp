#pragma once
#include "attn/fused/fused_attention.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/softmax.hpp"

namespace attn {

/// Where the tensors of the steps go, in the ledger's words; null for what is not kept.
///
/// Shapes  row_max and row_sum (batch, head, query_len), context (..., query_len, value_dim), all
///         others (..., query_len, key_len).
template <class T>
struct KeptSteps {
    T* scores = nullptr;
    T* scaled_scores = nullptr;
    T* masked_scores = nullptr;
    T* row_max = nullptr;
    T* exponentials = nullptr;
    T* row_sum = nullptr;
    T* weights = nullptr;
    T* context = nullptr;
};

struct SteppedOptions {
    ScaleFactor scale;
    MaskView mask;
    EmptyRow empty_row = EmptyRow::nan;
    /// At most this many threads; 0 is one for each core. Small work keeps to one whatever is said.
    std::size_t threads = 1;
    /// The number that an error gives the first row.
    std::size_t first_row = 0;
};

/// The steps from scores to context, one after the other as in the walk, over some rows of queries
/// at a time, so that these rows of scores and weights stay in the processor's cache from the step
/// that makes them to the one that reads them. What is not kept is never as large as the whole.
///
/// Shapes  as fused_attention.
/// Range   what the vectorized steps give for whole tensors with softmax over the keys, but for the
///         order in which products are added. Keys that no query of a window sees are left out
///         where that changes nothing.
/// Errors  ConfigError for a row that hides every key with EmptyRow::error.
void stepped_attention(const float* query, const float* key, const float* value,
                       const AttentionShape& shape, const SteppedOptions& options,
                       const KeptSteps<float>& kept);
void stepped_attention(const double* query, const double* key, const double* value,
                       const AttentionShape& shape, const SteppedOptions& options,
                       const KeptSteps<double>& kept);

}  // namespace attn
