#pragma once
#include <cstddef>
#include <vector>

#include "attn/fused/fused_attention.hpp"

namespace attn {

/// The effect of one block of keys on one block of queries. Numbers of a query stand at its place
/// in the block, cells at (query, key) and features at (query, feature), each row by row.
struct FusedBlock {
    std::size_t first_query, queries;
    std::size_t first_key, keys;
    /// Every cell is hidden: the block was not computed, and the numbers below are as they were.
    bool skipped;

    std::vector<double> scores;          ///< scaled; -inf where hidden; none if skipped
    std::vector<double> exponentials;    ///< exp(score - maximum); none if skipped
    std::vector<double> maximum_before;  ///< -inf while no key has been seen
    std::vector<double> maximum;
    std::vector<double> correction;  ///< exp(maximum_before - maximum)
    std::vector<double> sum;         ///< of all exponentials so far, relative to `maximum`
    std::vector<double> context;     ///< of all blocks so far, not yet divided by `sum`
};

struct FusedTrace {
    std::vector<FusedBlock> blocks;  ///< by query block, then key block
    std::vector<double> context;     ///< (query, feature): the last of each block over its sum
};

/// The algorithm of fused_attention for one head, in plain loops, with everything it passes
/// through.
///
/// Shapes  query (query_len, head_dim), key (key_len, head_dim), value (key_len, value_dim); batch
///         and heads of `shape` are 1. Of the options, threads and instruction set play no part.
/// Range   computed in the type of the arguments; the context agrees with fused_attention to
///         rounding, whatever the sizes of the blocks.
/// Errors  ShapeError when shape is of more than one head, ConfigError when a block size is 0.
FusedTrace fused_trace(const float* query, const float* key, const float* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block,
                       const BiasView<float>& bias = {});
FusedTrace fused_trace(const double* query, const double* key, const double* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block,
                       const BiasView<double>& bias = {});

}  // namespace attn
