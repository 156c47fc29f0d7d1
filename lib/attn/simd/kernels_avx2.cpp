#if defined(__x86_64__)
#include "attn/simd/kernels.hpp"
#include "attn/simd/panel_kernel.hpp"
#include "attn/simd/row_kernel.hpp"

namespace attn::simd {

Kernels avx2_kernels() {
    using Arch = xsimd::fma3<xsimd::avx2>;
    return {{row_operations_of<float, Arch>(), panel_operations_of<float, Arch>()},
            {row_operations_of<double, Arch>(), panel_operations_of<double, Arch>()}};
}

}  // namespace attn::simd
#endif
