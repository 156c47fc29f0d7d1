#pragma once
// Interface to the code compiled once for each instruction set, and the one place that chooses
// among them: tables of numbers and pointers only, so that no inline function can end up in code
// for another processor.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn {

/// The instruction sets that the kernels are compiled for. `automatic` is the widest that the
/// processor offers.
enum class InstructionSet { automatic, sse2, avx2, avx512, neon64 };

/// `automatic`, `sse2`, `avx2`, `avx512` or `neon64`.
std::string_view instruction_set_name(InstructionSet set);

/// The instruction sets that this processor can run, narrowest first.
std::vector<InstructionSet> available_instruction_sets();

/// Operations of the steps on one row of numbers in plain memory. `result` may be `row` itself.
template <class Real>
struct RowOperations {
    void (*multiply)(const Real* row, Real number, Real* result, std::size_t count);
    void (*divide)(const Real* row, Real number, Real* result, std::size_t count);
    /// row * factor + addend, rounded once.
    void (*multiply_add)(const Real* row, Real factor, Real addend, Real* result,
                         std::size_t count);
    /// result + row * factor.
    void (*add_multiple)(const Real* row, Real factor, Real* result, std::size_t count);
    /// The same, rounded once.
    void (*add_exact_multiple)(const Real* row, Real factor, Real* result, std::size_t count);
    void (*tanh)(const Real* row, Real* result, std::size_t count);
    /// The exponentials as parts of their sum. In vectors by its reciprocal: a division takes ten
    /// times as long as a product.
    void (*normalize)(const Real* row, Real sum, Real* result, std::size_t count);
    /// The number if hidden is true, the row's own if not.
    void (*where)(const bool* hidden, Real number, const Real* row, Real* result,
                  std::size_t count);
    /// The largest number; -inf of none; nan when there is one.
    Real (*maximum)(const Real* row, std::size_t count);
    /// exp(row - maximum), where no number is larger than `maximum`; returns their sum.
    Real (*exponentials)(const Real* row, Real maximum, Real* result, std::size_t count);
    /// The sum. In vectors, zeros after the row change no bit of it.
    Real (*sum)(const Real* row, std::size_t count);
};

/// One block of queries and all the keys it may see, in one head, for fused attention.
template <class Real>
struct QueryBlock {
    const Real* query;  ///< its first row
    const Real* key;
    const Real* value;
    Real* context;  ///< the row of its first query
    std::size_t queries;
    std::size_t first_key;  ///< no query of the block sees a key before this one
    std::size_t keys;       ///< no query of the block sees a key from here on
    std::size_t head_dim;
    std::size_t value_dim;

    Real scale;
    Real cap;        ///< of the scores; 0: none
    Real empty_row;  ///< the context of a query that sees no key
    Real sink;       ///< the logit of a key of value 0 that every query sees; -inf without

    bool causal;
    std::ptrdiff_t last_visible;  ///< if causal: the last key that the first query sees
    bool window;
    std::ptrdiff_t first_visible;  ///< if there is a window: the first key that it sees

    const bool* hidden;  ///< null, or the cell of the first query and key 0
    std::size_t query_stride;
    std::size_t key_stride;

    const Real* bias;  ///< null, or the number added for the first query and key 0
    std::ptrdiff_t bias_query_stride;
    std::ptrdiff_t bias_key_stride;

    const Real* keep;  ///< null, or 1 or 0 for the first query and key 0: a key of 0 adds no value
    std::size_t keep_stride;  ///< from one query to the next

    Real* scratch;  ///< aligned to 64 bytes
};

/// Fused attention, one block of queries at a time.
template <class Real>
struct BlockOperations {
    std::size_t lanes;        ///< queries side by side in a vector
    std::size_t query_block;  ///< the most queries in one block, a multiple of that
    std::size_t (*scratch_size)(std::size_t head_dim, std::size_t value_dim);
    void (*attend)(const QueryBlock<Real>& block);
};

namespace simd {

/// The kernels for one type of number.
template <class Real>
struct KernelsOf {
    RowOperations<Real> rows;
    BlockOperations<Real> blocks;
    /// Numbers of 2 bytes: a sign, and digits that `shift` moves to where a float has them; what
    /// this float lacks is `factor`.
    void (*widen)(const std::uint16_t* row, unsigned shift, float factor, Real* result,
                  std::size_t count);
};

/// The kernels of one instruction set.
struct Kernels {
    KernelsOf<float> float32;
    KernelsOf<double> float64;
    /// The normals of PyTorch's AVX2 build, see attn/ground/random/torch_generator.cpp.
    void (*normal_blocks)(float* values, std::size_t count);
    /// Multiplies and adds on registers alone; returns how many operations that were. `numbers`
    /// has room for `peak_floats`.
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

// Each is defined in the file that is compiled for its instruction set.
extern const Kernels sse2_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
extern const Kernels neon64_kernels;

/// The kernels of an instruction set, or of the widest that this processor has.
///
/// Errors  ConfigError when it lacks the one asked for, or when none are written for it.
const Kernels& kernels_for(InstructionSet set = InstructionSet::automatic);

}  // namespace simd

/// From this length on, rows are worked on in vectors.
inline constexpr std::size_t vector_row_length = 64;

/// The operations for rows of `length` numbers, or for parts of such rows.
///
/// Range  Exponentials in vectors are within one and a half units in the last place, and 0 where
///        they would be below the smallest normal number. Shorter rows take the C library's exp()
///        and sums in a fixed order: what people read number by number is the same on every
///        processor.
template <class Real>
const RowOperations<Real>& row_operations(std::size_t length);

}  // namespace attn
