#if defined(__aarch64__)
#include "attn/fused/block_kernel.hpp"

namespace attn::fused {

Kernels neon64_kernels() { return kernels_of<xsimd::neon64>(); }

}  // namespace attn::fused
#endif
