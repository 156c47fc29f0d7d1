#if defined(__aarch64__)
#include "attn/simd/kernels.hpp"
#include "attn/simd/panel_kernel.hpp"
#include "attn/simd/row_kernel.hpp"

namespace attn::simd {

Kernels neon64_kernels() {
    using Arch = xsimd::neon64;
    return {{row_operations_of<float, Arch>(), panel_operations_of<float, Arch>()},
            {row_operations_of<double, Arch>(), panel_operations_of<double, Arch>()}};
}

}  // namespace attn::simd
#endif
