#include "attn/ground/simd/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "attn/ground/simd/row_loops.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// A set of kernels that this processor can run, narrowest first.
struct Available {
    InstructionSet set;
    const simd::Kernels* kernels;
};

#if defined(__x86_64__)
// The compiler's runtime also checks that the system saves the wide registers.
std::vector<Available> find_available() {
    std::vector<Available> available{{InstructionSet::sse2, &simd::sse2_kernels}};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return available;
    available.push_back({InstructionSet::avx2, &simd::avx2_kernels});
    if (!__builtin_cpu_supports("avx512f")) return available;
    available.push_back({InstructionSet::avx512, &simd::avx512_kernels});
    return available;
}
#elif defined(__SSE2__)  // WebAssembly, whose vectors the compiler maps to SSE2
std::vector<Available> find_available() { return {{InstructionSet::sse2, &simd::sse2_kernels}}; }
#elif defined(__aarch64__)
std::vector<Available> find_available() {
    return {{InstructionSet::neon64, &simd::neon64_kernels}};
}
#else
#error "attn-explain has kernels for x86-64 and AArch64: add a kernels_*.cpp for this processor"
#endif

const std::vector<Available>& available() {
    static const std::vector<Available> found = find_available();
    return found;
}

/// The row operations as defined by the C library and a fixed order of sums.
template <class Real>
struct PlainRows : PlainLoops<Real, void> {
    static void tanh(const Real* row, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = std::tanh(row[i]);
    }

    static void normalize(const Real* row, Real sum, Real* result, std::size_t count) {
        PlainRows::divide(row, sum, result, count);
    }

    static Real maximum(const Real* row, std::size_t count) {
        Real largest = -std::numeric_limits<Real>::infinity();
        for (std::size_t i = 0; i < count; ++i) {
            if (row[i] > largest || std::isnan(row[i])) largest = row[i];
        }
        return largest;
    }

    static Real exponentials(const Real* row, Real maximum, Real* result, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) result[i] = std::exp(row[i] - maximum);
        return sum(result, count);
    }

    static Real sum(const Real* row, std::size_t count) {
        // Sixteen sums side by side; the remainder of the row is added to the first.
        constexpr std::size_t lanes = 16;
        std::array<Real, lanes> sums{};
        const std::size_t whole = count - count % lanes;
        for (std::size_t i = 0; i < whole; ++i) sums[i % lanes] += row[i];
        for (std::size_t i = whole; i < count; ++i) sums[0] += row[i];
        Real all = 0;
        for (const Real sum : sums) all += sum;
        return all;
    }
};

template <class Real>
constexpr RowOperations<Real> plain_rows = row_table<Real, PlainRows<Real>>();

}  // namespace

std::string_view instruction_set_name(InstructionSet set) {
    static constexpr std::array<std::string_view, 5> names{"automatic", "sse2", "avx2", "avx512",
                                                           "neon64"};
    return names[static_cast<std::size_t>(set)];
}

std::vector<InstructionSet> available_instruction_sets() {
    std::vector<InstructionSet> sets;
    for (const Available& one : available()) sets.push_back(one.set);
    return sets;
}

const simd::Kernels& simd::kernels_for(InstructionSet set) {
    if (set == InstructionSet::automatic) return *available().back().kernels;
    std::string names;
    for (const Available& one : available()) {
        if (one.set == set) return *one.kernels;
        names += " " + std::string(instruction_set_name(one.set));
    }
    throw ConfigError("this processor cannot run " + std::string(instruction_set_name(set)) +
                      ": choose automatic or one of" + names);
}

template <class Real>
const RowOperations<Real>& row_operations(std::size_t length) {
    if (length < vector_row_length) return plain_rows<Real>;
    return simd::kernels_for().of<Real>().rows;
}

template const RowOperations<float>& row_operations(std::size_t);
template const RowOperations<double>& row_operations(std::size_t);

}  // namespace attn
