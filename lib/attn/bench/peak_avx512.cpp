#if defined(__x86_64__)
#include "attn/bench/peak_loop.hpp"

namespace attn::bench {

double peak_loop_avx512(const float* start, float* end, float factor, std::size_t steps) {
    return FmaLoop<xsimd::avx512f>::run(start, end, factor, steps);
}

}  // namespace attn::bench
#endif
