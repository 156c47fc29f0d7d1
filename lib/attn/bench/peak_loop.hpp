#pragma once
#include <cstddef>
#include <utility>

#include <xsimd/xsimd.hpp>

#include "attn/bench/peak_loops.hpp"

// Included only by the files that are compiled for one instruction set, as the fused kernel's: all
// of it is a class template on Arch, for the same reason.
namespace attn::bench {

template <class Arch>
class FmaLoop {
    using Batch = xsimd::batch<float, Arch>;
    // Enough sums that the next never waits for the last, few enough to stay in registers.
    static constexpr std::size_t sums = 12;

public:
    static double run(const float* start, float* end, float factor, std::size_t steps) {
        run_sums(start, end, factor, steps, std::make_index_sequence<sums>());
        return 2.0 * static_cast<double>(Batch::size * sums) * static_cast<double>(steps);
    }

private:
    // Each sum begins elsewhere, or the compiler would see that they are all the same.
    template <std::size_t... I>
    static void run_sums(const float* start, float* end, float factor, std::size_t steps,
                         std::index_sequence<I...>) {
        const Batch multiplier(factor);
        Batch sum[sums] = {Batch::load_unaligned(start + I * Batch::size)...};
        for (std::size_t step = 0; step < steps; ++step) {
            ((sum[I] = xsimd::fma(sum[I], multiplier, multiplier)), ...);
        }
        (sum[I].store_unaligned(end + I * Batch::size), ...);
    }
};

}  // namespace attn::bench
