#if defined(__x86_64__)
#include "attn/ground/simd/kernel_table.hpp"

namespace attn::simd {

const Kernels avx512_kernels = kernels_of<xsimd::avx512f>();

}  // namespace attn::simd
#endif
