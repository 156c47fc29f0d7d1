#pragma once
#include <cstddef>

// What the plain code and the files compiled for one instruction set say to each other: numbers and
// pointers only, so that no inline function of theirs can end up in code for another processor.
namespace attn::fused {

/// One block of queries and all the keys it may see, in one head.
template <class Real>
struct QueryBlock {
    const Real* query;  ///< its first row
    const Real* key;
    const Real* value;
    Real* context;  ///< the row of its first query
    std::size_t queries;
    std::size_t keys;  ///< no query of the block sees a key from here on
    std::size_t head_dim;
    std::size_t value_dim;

    Real scale;
    Real empty_row;  ///< what a query that sees no key receives

    bool causal;
    std::ptrdiff_t last_visible;  ///< if causal: the last key that the first query sees

    const bool* hidden;  ///< null, or the cell of the first query and key 0
    std::size_t query_stride;
    std::size_t key_stride;

    Real* scratch;  ///< aligned to 64 bytes
};

/// The kernel of one instruction set.
template <class Real>
struct Kernel {
    std::size_t lanes;        ///< queries side by side in a vector
    std::size_t query_block;  ///< the most queries in one block, a multiple of that
    std::size_t (*scratch_size)(std::size_t head_dim, std::size_t value_dim);
    void (*attend)(const QueryBlock<Real>& block);
};

struct Kernels {
    Kernel<float> float32;
    Kernel<double> float64;
};

Kernels sse2_kernels();
Kernels avx2_kernels();
Kernels avx512_kernels();
Kernels neon64_kernels();

}  // namespace attn::fused
