#if defined(__x86_64__)
#include "attn/bench/peak_loop.hpp"

namespace attn::bench {

double peak_loop_avx2(const float* start, float* end, float factor, std::size_t steps) {
    return FmaLoop<xsimd::fma3<xsimd::avx2>>::run(start, end, factor, steps);
}

}  // namespace attn::bench
#endif
