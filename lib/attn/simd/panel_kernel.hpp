#pragma once
#include "attn/simd/kernels.hpp"
#include "attn/simd/tile.hpp"

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// The operations that kernels.hpp states, for vectors of one kind.
template <class Real, class Arch>
class PanelKernel {
    using Batch = xsimd::batch<Real, Arch>;
    using Math = VectorMath<Real, Arch>;
    using Sums = Tile<Real, Arch>;
    template <std::size_t Number>
    using Width = std::integral_constant<std::size_t, Number>;
    static constexpr std::size_t lanes = Batch::size;
    // This much of a panel stays in the first cache while all rows meet it. It also bounds the
    // chains of additions: rounding errors grow with their length.
    static constexpr std::size_t most_steps = 192;

public:
    static std::size_t size(std::size_t steps, std::size_t columns) {
        return steps * vectors_for(columns) * lanes;
    }

    static void pack(const Real* matrix, std::size_t steps, std::size_t columns, bool transposed,
                     Real* panels) {
        const auto pack_one = [&]<std::size_t Vectors>(Width<Vectors>, std::size_t first,
                                                       std::size_t here) {
            constexpr std::size_t width = Vectors * lanes;
            Real* const panel = panels + first * steps;
            if (transposed) {
                Math::transpose(matrix + first * steps, here, steps, steps, panel, width);
            }
            for (std::size_t step = 0; step < steps; ++step) {
                Real* const row = panel + step * width;
                if (!transposed) copy<Vectors>(matrix + step * columns + first, here, row);
                for (std::size_t c = here; c < width; ++c) row[c] = 0;
            }
        };
        for_each_panel(columns, columns, pack_one);
    }

    static void multiply(const Real* rows, std::size_t row_stride, std::size_t count,
                         const Panels<Real>& panels, std::size_t steps, std::size_t columns,
                         Real* result, std::size_t result_stride) {
        for (std::size_t begin = 0; begin < steps || begin == 0; begin += most_steps) {
            const std::size_t here = steps - begin < most_steps ? steps - begin : most_steps;
            const auto meet = [&]<std::size_t Vectors>(Width<Vectors>, std::size_t first,
                                                       std::size_t wanted) {
                const Real* const panel =
                    panels.numbers + first * panels.steps + begin * Vectors * lanes;
                Sums::for_each(count, [&]<std::size_t Rows>(Width<Rows>, std::size_t r) {
                    Batch sums[Rows][Vectors];
                    Sums::multiply(sums, rows + r * row_stride + begin, row_stride, 1, panel, here);
                    store(sums, begin > 0, wanted, result + r * result_stride + first,
                          result_stride);
                });
            };
            for_each_panel(panels.columns, columns, meet);
        }
    }

private:
    static std::size_t vectors_for(std::size_t columns) { return (columns + lanes - 1) / lanes; }

    template <std::size_t Vectors>
    [[gnu::always_inline]] static inline void copy(const Real* from, std::size_t count, Real* to) {
        if (count < Vectors * lanes) {
            for (std::size_t c = 0; c < count; ++c) to[c] = from[c];
            return;
        }
        for (std::size_t v = 0; v < Vectors; ++v) {
            Batch::load_unaligned(from + v * lanes).store_aligned(to + v * lanes);
        }
    }

    /// Calls work(vectors, first, columns) for each panel of which one of the first `wanted`
    /// columns is a part. The panels are of nearly the same width, for a narrow one keeps few sums
    /// going.
    template <class Work>
    [[gnu::always_inline]] static inline void for_each_panel(std::size_t columns,
                                                             std::size_t wanted, Work work) {
        const std::size_t all = vectors_for(columns);
        const std::size_t panels = (all + Sums::most_vectors - 1) / Sums::most_vectors;
        std::size_t begin = 0;
        for (std::size_t p = 0; p < panels && begin * lanes < wanted; ++p) {
            const std::size_t end = all * (p + 1) / panels;
            const std::size_t first = begin * lanes;
            const std::size_t here = (wanted < end * lanes ? wanted : end * lanes) - first;
            if (end - begin == 3) work(Width<3>(), first, here);
            if (end - begin == 2) work(Width<2>(), first, here);
            if (end - begin == 1) work(Width<1>(), first, here);
            begin = end;
        }
    }

    /// Writes the first `wanted` columns of the sums, or adds them to what is there.
    template <std::size_t Rows, std::size_t Vectors>
    [[gnu::always_inline]] static inline void store(Batch (&sums)[Rows][Vectors], bool add,
                                                    std::size_t wanted, Real* result,
                                                    std::size_t stride) {
        for (std::size_t r = 0; r < Rows; ++r) {
            for (std::size_t v = 0; v < Vectors; ++v) {
                Real* const cells = result + r * stride + v * lanes;
                if ((v + 1) * lanes <= wanted) {
                    if (add) sums[r][v] += Batch::load_unaligned(cells);
                    sums[r][v].store_unaligned(cells);
                    continue;
                }
                alignas(64) Real rest[lanes];
                sums[r][v].store_aligned(rest);
                for (std::size_t c = v * lanes; c < wanted; ++c) {
                    cells[c - v * lanes] = rest[c - v * lanes] + (add ? cells[c - v * lanes] : 0);
                }
            }
        }
    }
};

}  // namespace attn::simd
