#pragma once
#include <string>
#include <string_view>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// A variant of attention, shown as one line of the plot.
struct BenchSeries {
    Variant variant = Variant::vectorized;
    InstructionSet instruction_set = InstructionSet::automatic;  ///< for the fused variant only
    std::size_t threads = 1;

    bool operator==(const BenchSeries&) const = default;
};

/// Returns `loop`, `fused avx2`, `fused avx512 x2`: with the threads if there are several.
std::string series_name(const BenchSeries& series);

/// The sizes of one attention, with equally many queries, keys and values.
struct BenchShape {
    std::size_t groups = 1;  ///< batch * heads
    std::size_t length = 0;  ///< T
    std::size_t head_dim = 0;
    /// Query groups per matrix of keys and values: heads / kv_heads.
    std::size_t queries_per_key = 1;

    std::size_t kv_groups() const { return groups / queries_per_key; }
    bool operator==(const BenchShape&) const = default;
};

/// Returns `(8,1024,64)`, or `(8/2,1024,64)` if 8 groups of queries share 2 of keys.
std::string bench_shape_text(const BenchShape& shape);

/// The input of all variants.
struct BenchInput {
    Array<float> query, key, value;
    bool causal = false;
    std::size_t window = 0;  ///< keys that a query sees, including its own; 0: no window

    BenchShape shape() const {
        return {query.shape(0), query.shape(1), query.shape(2), query.shape(0) / key.shape(0)};
    }
};

/// Draws standard normal query, (groups, length, head_dim), key and value, (kv_groups, length,
/// head_dim).
BenchInput draw_bench_input(const BenchShape& shape, bool causal, std::size_t window = 0);

/// Allocates the context and writes it once: getting memory from the system costs more than a short
/// attention, and a model reuses it for every layer. Walks in steps allocate their own.
Array<float> context_buffer(const BenchSeries& series, const BenchShape& shape);

/// Computes attention by the variant of a series, with scores scaled by 1 / sqrt(head_dim).
///
/// loop and vectorized compute the tensors of all steps, and keep them to the end; fused computes
/// only the context. loop and vectorized repeat shared keys and values; fused reads them in place.
///
/// Shapes  context (groups, length, head_dim); for fused made by context_buffer().
/// Errors  ConfigError if this processor lacks the instruction set.
void attend(const BenchSeries& series, const BenchInput& input, Array<float>& context);

/// Returns the bytes that attend() keeps. loop and vectorized: weights (in the memory of the
/// scores), mask and context, and the repeated keys and values if they are shared; fused: the
/// context and a block of scores per thread, if all threads are used. Inputs, and temporaries of a
/// step or a library, are not counted.
double used_bytes(const BenchSeries& series, const BenchShape& shape, bool causal);

/// Counts the useful operations: a multiplication and an addition per feature of each visible cell,
/// once for the scores and once for the context.
double useful_operations(const BenchShape& shape, bool causal, std::size_t window = 0);

}  // namespace attn
