#if defined(__SSE2__)
#include "attn/ground/simd/kernel_table.hpp"

namespace attn::simd {

const Kernels sse2_kernels = kernels_of<xsimd::sse2>();

}  // namespace attn::simd
#endif
