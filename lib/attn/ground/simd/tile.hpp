#pragma once
#include <cstddef>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#include "attn/ground/simd/vector_math.hpp"

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// The micro-kernel for products of the fused variant: a tile of sums stays in registers while
/// numbers from several rows, each broadcast to all lanes, multiply a panel, which is a matrix of a
/// few vectors' width.
template <class Real, class Arch>
struct Tile {
    using Batch = xsimd::batch<Real, Arch>;
    static constexpr std::size_t lanes = Batch::size;

    // A panel is at most three vectors wide. With `most_rows` rows the sums take 24 of the 32
    // registers of AVX-512 and NEON, or 12 of 16; the others are for the factors.
    static constexpr std::size_t most_vectors = 3;
    static constexpr bool many_registers =
        std::is_base_of_v<xsimd::avx512f, Arch> || std::is_base_of_v<xsimd::neon, Arch>;
    static constexpr std::size_t most_rows = many_registers ? 8 : 4;

    /// sums(r, column) = sum over steps of left(r, step) * panel(step, column). Each step reads
    /// Rows + Vectors numbers or vectors for Rows * Vectors products.
    template <std::size_t Rows, std::size_t Vectors>
    [[gnu::always_inline]] static inline void multiply(Batch (&sums)[Rows][Vectors],
                                                       const Real* left, std::size_t row_stride,
                                                       std::size_t step_stride, const Real* panel,
                                                       std::size_t steps) {
        for (std::size_t r = 0; r < Rows; ++r) {
            for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = Batch(Real(0));
        }
        for (std::size_t step = 0; step < steps; ++step) {
            Batch columns[Vectors];
            for (std::size_t v = 0; v < Vectors; ++v)
                columns[v] = Batch::load_aligned(panel + v * lanes);
            for (std::size_t r = 0; r < Rows; ++r) {
                const Batch number(left[r * row_stride]);
                for (std::size_t v = 0; v < Vectors; ++v) {
                    sums[r][v] =
                        VectorMath<Real, Arch>::multiply_add(number, columns[v], sums[r][v]);
                }
            }
            left += step_stride;
            panel += Vectors * lanes;
        }
    }

    /// Calls tile(rows, first) for rows 0 to count - 1, `rows` at a time: most_rows as long as that
    /// many are left, then half of them, and so on.
    template <class Work>
    [[gnu::always_inline]] static inline void for_each(std::size_t count, Work work) {
        for_each_from<most_rows>(0, count, work);
    }

private:
    template <std::size_t Rows, class Work>
    [[gnu::always_inline]] static inline void for_each_from(std::size_t first, std::size_t count,
                                                            Work work) {
        for (; first + Rows <= count; first += Rows) {
            work(std::integral_constant<std::size_t, Rows>(), first);
        }
        if constexpr (Rows > 1) for_each_from<Rows / 2>(first, count, work);
    }
};

}  // namespace attn::simd
