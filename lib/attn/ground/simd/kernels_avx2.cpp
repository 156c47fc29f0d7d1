#if defined(__x86_64__)
#include "attn/ground/simd/kernel_table.hpp"

namespace attn::simd {

const Kernels avx2_kernels = kernels_of<xsimd::fma3<xsimd::avx2>>();

}  // namespace attn::simd
#endif
