#pragma once
#include <limits>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#include "attn/ground/simd/exact_multiple.hpp"
#include "attn/ground/simd/row_loops.hpp"
#include "attn/ground/simd/vector_math.hpp"

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// The operations of kernels.hpp for one kind of vectors. Loops that the compiler vectorizes anyway
/// stay plain.
template <class Real, class Arch>
class RowKernel : public PlainLoops<Real, Arch> {
    using Plain = PlainLoops<Real, Arch>;
    using Batch = xsimd::batch<Real, Arch>;
    using Math = VectorMath<Real, Arch>;
    static constexpr std::size_t lanes = Batch::size;
    // This many independent vectors hide the latency of the operations.
    static constexpr std::size_t vectors = 4;
    static constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

public:
    static void add_exact_multiple(const Real* row, Real factor, Real* result, std::size_t count) {
        if constexpr (sizeof(Real) == sizeof(double) && std::is_same_v<Arch, xsimd::sse2>) {
            ExactMultiple<Arch>::add(row, factor, result, count);
        } else {
            Plain::add_exact_multiple(row, factor, result, count);
        }
    }

    static void tanh(const Real* row, Real* result, std::size_t count) {
        for_each_group(row, count, Real(0),
                       [&](Batch(&x)[vectors], std::size_t first, std::size_t here) {
                           for (Batch& number : x) number = xsimd::tanh(number);
                           store(x, result + first, here);
                       });
    }

    static void normalize(const Real* row, Real sum, Real* result, std::size_t count) {
        Plain::multiply(row, Real(1) / sum, result, count);
    }

    static Real maximum(const Real* row, std::size_t count) {
        Batch largest[vectors], nan[vectors];
        for (Batch& number : largest) number = Batch(minus_infinity);
        for (Batch& number : nan) number = Batch(Real(0));
        for_each_group(row, count, minus_infinity,
                       [&](Batch(&x)[vectors], std::size_t, std::size_t) {
                           for (std::size_t v = 0; v < vectors; ++v) {
                               largest[v] = xsimd::max(largest[v], x[v]);
                               nan[v] = xsimd::select(x[v] == x[v], nan[v], x[v]);
                           }
                       });
        const Real sign = total(nan);
        if (sign != sign) return sign;
        return across(largest, [](Real a, Real b) { return a > b ? a : b; });
    }

    static Real exponentials(const Real* row, Real maximum, Real* result, std::size_t count) {
        const Batch shift(maximum);
        Batch sums[vectors];
        for (Batch& sum : sums) sum = Batch(Real(0));
        for_each_group(row, count, minus_infinity,
                       [&](Batch(&x)[vectors], std::size_t first, std::size_t here) {
                           for (Batch& number : x) number -= shift;
                           Math::exp_below_one(x);
                           for (std::size_t v = 0; v < vectors; ++v) sums[v] += x[v];
                           store(x, result + first, here);
                       });
        return total(sums);
    }

    static Real sum(const Real* row, std::size_t count) {
        Batch sums[vectors];
        for (Batch& sum : sums) sum = Batch(Real(0));
        for_each_group(row, count, Real(0), [&](Batch(&x)[vectors], std::size_t, std::size_t) {
            for (std::size_t v = 0; v < vectors; ++v) sums[v] += x[v];
        });
        return total(sums);
    }

    static void widen(const std::uint16_t* row, unsigned shift, float factor, Real* result,
                      std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t digits = (row[i] & 0x7FFFU) << shift;
            const float size = __builtin_bit_cast(float, digits) * factor;
            const std::uint32_t sign = (row[i] & 0x8000U) << 16U;
            result[i] = __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, size) | sign);
        }
    }

private:
    static constexpr std::size_t group = vectors * lanes;

    /// Calls work(numbers, first, count) for each group of numbers; the last one is padded.
    template <class Work>
    [[gnu::always_inline]] static inline void for_each_group(const Real* row, std::size_t count,
                                                             Real filling, Work work) {
        std::size_t first = 0;
        Batch x[vectors];
        for (; first + group <= count; first += group) {
            for (std::size_t v = 0; v < vectors; ++v) {
                x[v] = Batch::load_unaligned(row + first + v * lanes);
            }
            work(x, first, group);
        }
        if (first == count) return;
        alignas(64) Real rest[group];
        for (std::size_t i = 0; i < group; ++i)
            rest[i] = first + i < count ? row[first + i] : filling;
        for (std::size_t v = 0; v < vectors; ++v) x[v] = Batch::load_aligned(rest + v * lanes);
        work(x, first, count - first);
    }

    [[gnu::always_inline]] static inline void store(const Batch (&x)[vectors], Real* result,
                                                    std::size_t count) {
        if (count == group) {
            for (std::size_t v = 0; v < vectors; ++v) x[v].store_unaligned(result + v * lanes);
            return;
        }
        alignas(64) Real rest[group];
        for (std::size_t v = 0; v < vectors; ++v) x[v].store_aligned(rest + v * lanes);
        for (std::size_t i = 0; i < count; ++i) result[i] = rest[i];
    }

    [[gnu::always_inline]] static inline Real total(const Batch (&x)[vectors]) {
        return across(x, [](Real a, Real b) { return a + b; });
    }

    template <class Combine>
    [[gnu::always_inline]] static inline Real across(const Batch (&x)[vectors], Combine combine) {
        alignas(64) Real numbers[group];
        for (std::size_t v = 0; v < vectors; ++v) x[v].store_aligned(numbers + v * lanes);
        Real all = numbers[0];
        for (std::size_t i = 1; i < group; ++i) all = combine(all, numbers[i]);
        return all;
    }
};

}  // namespace attn::simd
