#pragma once
#include <cstddef>
#include <utility>

#include "attn/ground/simd/block_kernel.hpp"
#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/simd/normal_kernel.hpp"
#include "attn/ground/simd/row_kernel.hpp"

// Included only by the files that are compiled for one instruction set: see vector_math.hpp.
namespace attn::simd {

/// Multiply-adds on registers, with the instruction that the kernels use. SSE2 has no FMA: it
/// multiplies, then adds.
template <class Arch>
class PeakLoop {
    using Batch = xsimd::batch<float, Arch>;
    // Enough independent sums to hide the latency, but few enough to stay in registers.
    static constexpr std::size_t sums = 12;
    static_assert(sums * Batch::size <= peak_floats);

public:
    static double run(float* numbers, float factor, std::size_t steps) {
        run_sums(numbers, factor, steps, std::make_index_sequence<sums>());
        return 2.0 * static_cast<double>(Batch::size * sums) * static_cast<double>(steps);
    }

private:
    // Different start values, or the compiler would see that all sums are equal.
    template <std::size_t... I>
    static void run_sums(float* numbers, float factor, std::size_t steps,
                         std::index_sequence<I...>) {
        const Batch multiplier(factor);
        Batch sum[sums] = {Batch::load_unaligned(numbers + I * Batch::size)...};
        for (std::size_t step = 0; step < steps; ++step) {
            ((sum[I] = VectorMath<float, Arch>::multiply_add(sum[I], multiplier, multiplier)), ...);
        }
        (sum[I].store_unaligned(numbers + I * Batch::size), ...);
    }
};

template <class Real, class Arch>
constexpr KernelsOf<Real> kernels_of_type() {
    using Rows = RowKernel<Real, Arch>;
    using Blocks = BlockKernel<Real, Arch>;
    return {row_table<Real, Rows>(),
            {Blocks::lanes, Blocks::query_block, &Blocks::scratch_size, &Blocks::attend},
            &Rows::widen};
}

/// The kernels that are compiled for one instruction set.
template <class Arch>
constexpr Kernels kernels_of() {
    return {kernels_of_type<float, Arch>(), kernels_of_type<double, Arch>(),
            &NormalKernel<Arch>::transform, &PeakLoop<Arch>::run};
}

}  // namespace attn::simd
