#pragma once
#include <cstddef>

namespace attn::bench {

/// The floats that a loop reads at its start and writes at its end, at most.
inline constexpr std::size_t loop_floats = 12 * 16;

/// Multiplies and adds on registers alone; returns how many operations that were.
/// One function for each instruction set. SSE2 has no fused form: it multiplies, then adds.
using PeakLoop = double(const float* start, float* end, float factor, std::size_t steps);

PeakLoop peak_loop_sse2;
PeakLoop peak_loop_avx2;
PeakLoop peak_loop_avx512;
PeakLoop peak_loop_neon64;

}  // namespace attn::bench
