#if defined(__x86_64__)
#include "attn/fused/block_kernel.hpp"

namespace attn::fused {

Kernels avx512_kernels() { return kernels_of<xsimd::avx512f>(); }

}  // namespace attn::fused
#endif
