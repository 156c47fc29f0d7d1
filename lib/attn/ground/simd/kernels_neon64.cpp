#if defined(__aarch64__)
#include "attn/ground/simd/kernel_table.hpp"

namespace attn::simd {

const Kernels neon64_kernels = kernels_of<xsimd::neon64>();

}  // namespace attn::simd
#endif
