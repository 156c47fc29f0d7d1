#if defined(__x86_64__)
#include "attn/fused/block_kernel.hpp"

namespace attn::fused {

Kernels avx2_kernels() { return kernels_of<xsimd::fma3<xsimd::avx2>>(); }

}  // namespace attn::fused
#endif
