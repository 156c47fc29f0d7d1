#if defined(__aarch64__)
#include "attn/bench/peak_loop.hpp"

namespace attn::bench {

double peak_loop_neon64(const float* start, float* end, float factor, std::size_t steps) {
    return FmaLoop<xsimd::neon64>::run(start, end, factor, steps);
}

}  // namespace attn::bench
#endif
