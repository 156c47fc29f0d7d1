#if defined(__x86_64__)
#include "attn/fused/block_kernel.hpp"

namespace attn::fused {

Kernels sse2_kernels() { return kernels_of<xsimd::sse2>(); }

}  // namespace attn::fused
#endif
