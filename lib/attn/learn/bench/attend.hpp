#pragma once
#include <string>
#include <string_view>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// One way to compute attention: what a line of the plot stands for.
struct BenchSeries {
    Variant variant = Variant::vectorized;
    InstructionSet instruction_set = InstructionSet::automatic;  ///< of the fused variant alone
    std::size_t threads = 1;

    bool operator==(const BenchSeries&) const = default;
};

/// `loop`, `fused avx2`, `fused avx512 x2`: with the threads when there is more than one.
std::string series_name(const BenchSeries& series);

/// The sizes of one attention: as many queries as keys, values as long as keys.
struct BenchShape {
    std::size_t groups = 1;  ///< batch * heads
    std::size_t length = 0;  ///< T
    std::size_t head_dim = 0;
    /// Groups of queries that read one matrix of keys and values: heads / kv_heads.
    std::size_t queries_per_key = 1;

    std::size_t kv_groups() const { return groups / queries_per_key; }
    bool operator==(const BenchShape&) const = default;
};

/// `(8,1024,64)`, or `(8/2,1024,64)` where 8 groups of queries read 2 of keys
std::string bench_shape_text(const BenchShape& shape);

/// The input of all variants.
struct BenchInput {
    Array<float> query, key, value;
    bool causal = false;
    std::size_t window = 0;  ///< keys that a query sees, with its own; 0: no window

    BenchShape shape() const {
        return {query.shape(0), query.shape(1), query.shape(2), query.shape(0) / key.shape(0)};
    }
};

/// Standard normal query, (groups, length, head_dim), key and value, (kv_groups, length, head_dim).
BenchInput draw_bench_input(const BenchShape& shape, bool causal, std::size_t window = 0);

/// Memory for the context, written once: taking it from the system costs more than a short
/// attention, and a model uses the same again for every layer. Walks in steps take their own.
Array<float> room_for_context(const BenchSeries& series, const BenchShape& shape);

/// Attention as one series computes it, scores scaled by 1 / sqrt(head_dim).
///
/// loop and vectorized make every step's tensor, one after the other, and keep it to the end; fused
/// makes the context alone. Shared keys and values are repeated by loop and vectorized, and read
/// where they are by fused.
///
/// Shapes  context (groups, length, head_dim); for fused as room_for_context() makes it.
/// Errors  ConfigError when this processor lacks the instruction set.
void attend(const BenchSeries& series, const BenchInput& input, Array<float>& context);

/// The bytes that attend() holds when it is done. loop and vectorized: weights (where the scores
/// lay), mask and context, and the repeated keys and values where these are shared;
/// fused: the context and a block of scores for each thread, should all of them be worth starting.
/// The inputs do not count, nor what a step or a library uses for itself.
double held_bytes(const BenchSeries& series, const BenchShape& shape, bool causal);

/// The useful operations: a multiplication and an addition for each feature of each visible cell,
/// once for the scores and once for the context.
double useful_operations(const BenchShape& shape, bool causal, std::size_t window = 0);

}  // namespace attn
