#if defined(__x86_64__)
#include "attn/bench/peak_loop.hpp"

namespace attn::bench {

double peak_loop_sse2(const float* start, float* end, float factor, std::size_t steps) {
    return FmaLoop<xsimd::sse2>::run(start, end, factor, steps);
}

}  // namespace attn::bench
#endif
