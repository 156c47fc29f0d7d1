#pragma once
// Interface to the code that is compiled once per instruction set, and the only place that selects
// one: it has only tables of numbers and pointers, so that no inline function is compiled for
// another processor.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn {

/// The instruction sets that the kernels are compiled for. `automatic` is the widest that the
/// processor supports.
enum class InstructionSet { automatic, sse2, avx2, avx512, neon64 };

/// Returns `automatic`, `sse2`, `avx2`, `avx512` or `neon64`.
std::string_view instruction_set_name(InstructionSet set);

/// Returns the instruction sets that this processor can run, narrowest first.
std::vector<InstructionSet> available_instruction_sets();

/// Operations of the steps on one row in plain memory. `result` may be `row` itself.
template <class Real>
struct RowOperations {
    void (*multiply)(const Real* row, Real number, Real* result, std::size_t count);
    void (*divide)(const Real* row, Real number, Real* result, std::size_t count);
    /// row * factor + addend, rounded once.
    void (*multiply_add)(const Real* row, Real factor, Real addend, Real* result,
                         std::size_t count);
    /// result + row * factor.
    void (*add_multiple)(const Real* row, Real factor, Real* result, std::size_t count);
    /// result + row * factor, rounded once.
    void (*add_exact_multiple)(const Real* row, Real factor, Real* result, std::size_t count);
    void (*tanh)(const Real* row, Real* result, std::size_t count);
    /// Divides the exponentials by their sum. Vectorized versions multiply by the reciprocal: a
    /// division takes ten times as long as a multiplication.
    void (*normalize)(const Real* row, Real sum, Real* result, std::size_t count);
    /// Selects the number if `hidden` is true, the row's own number otherwise.
    void (*where)(const bool* hidden, Real number, const Real* row, Real* result,
                  std::size_t count);
    /// Returns the largest number; -inf for an empty row; nan if there is one.
    Real (*maximum)(const Real* row, std::size_t count);
    /// Computes exp(row - maximum), for `maximum` not below any number; returns their sum.
    Real (*exponentials)(const Real* row, Real maximum, Real* result, std::size_t count);
    /// Returns the sum. In vectorized versions, zeros after the row do not change its bits.
    Real (*sum)(const Real* row, std::size_t count);
};

/// One block of queries and all keys that it may see, in one head, for fused attention.
template <class Real>
struct QueryBlock {
    const Real* query;  ///< its first row
    const Real* key;
    const Real* value;
    Real* context;  ///< the row of the first query
    std::size_t queries;
    std::size_t first_key;  ///< no query of the block sees an earlier key
    std::size_t keys;       ///< no query of the block sees this key or a later one
    std::size_t head_dim;
    std::size_t value_dim;

    Real scale;
    Real cap;        ///< of the scores; 0: no cap
    Real empty_row;  ///< the context of a fully masked query
    Real sink;       ///< logit of a key with value 0 that all queries see; -inf: none

    bool causal;
    std::ptrdiff_t last_visible;  ///< if causal: the last key that the first query sees
    bool window;
    std::ptrdiff_t first_visible;  ///< with a window: the first key that the first query sees

    const bool* hidden;  ///< null, or the cell of the first query and key 0
    std::size_t query_stride;
    std::size_t key_stride;

    const Real* bias;  ///< null, or the addend for the first query and key 0
    std::ptrdiff_t bias_query_stride;
    std::ptrdiff_t bias_key_stride;

    const Real* keep;         ///< null, or 1 or 0 for the first query and key 0: 0 drops the value
    std::size_t keep_stride;  ///< from one query to the next

    Real* scratch;  ///< aligned to 64 bytes
};

/// Fused attention for one block of queries at a time.
template <class Real>
struct BlockOperations {
    std::size_t lanes;        ///< queries per vector
    std::size_t query_block;  ///< most queries per block, a multiple of `lanes`
    std::size_t (*scratch_size)(std::size_t head_dim, std::size_t value_dim);
    void (*attend)(const QueryBlock<Real>& block);
};

namespace simd {

/// The kernels for one floating-point type.
template <class Real>
struct KernelsOf {
    RowOperations<Real> rows;
    BlockOperations<Real> blocks;
    /// Widens 16-bit numbers: a sign, and digits that `shift` moves to their place in a float,
    /// which is then multiplied by `factor`.
    void (*widen)(const std::uint16_t* row, unsigned shift, float factor, Real* result,
                  std::size_t count);
};

/// The kernels of one instruction set.
struct Kernels {
    KernelsOf<float> float32;
    KernelsOf<double> float64;
    /// The normals of PyTorch's AVX2 build; see attn/ground/random/torch_generator.cpp.
    void (*normal_blocks)(float* values, std::size_t count);
    /// Multiplies and adds on registers; returns the number of operations. `numbers` has space for
    /// `peak_floats`.
    double (*peak)(float* numbers, float factor, std::size_t steps);

    template <class Real>
    const KernelsOf<Real>& of() const {
        if constexpr (std::is_same_v<Real, float>) {
            return float32;
        } else {
            return float64;
        }
    }
};

inline constexpr std::size_t peak_floats = 12 * 16;

// Each table is defined in the file that is compiled for its instruction set.
extern const Kernels sse2_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
extern const Kernels neon64_kernels;

/// Returns the kernels of an instruction set, or of the widest that this processor has.
///
/// Errors  ConfigError if the processor lacks it, or if it has no kernels.
const Kernels& kernels_for(InstructionSet set = InstructionSet::automatic);

}  // namespace simd

/// Rows of at least this length are processed in vectors.
inline constexpr std::size_t vector_row_length = 64;

/// Returns the operations for rows of `length` numbers, or for parts of such rows.
///
/// Range  Vectorized exponentials are within 1.5 ulp, and 0 if the result would be below the
///        smallest normal number. Shorter rows use the C library's exp() and sums in a fixed order:
///        numbers that people read are the same on every processor.
template <class Real>
const RowOperations<Real>& row_operations(std::size_t length);

}  // namespace attn
