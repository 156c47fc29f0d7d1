#if defined(__x86_64__)
#include "attn/tensor/kernels.hpp"
#include "attn/tensor/panel_kernel.hpp"
#include "attn/tensor/row_kernel.hpp"

namespace attn::simd {

Kernels sse2_kernels() {
    using Arch = xsimd::sse2;
    return {{row_operations_of<float, Arch>(), panel_operations_of<float, Arch>()},
            {row_operations_of<double, Arch>(), panel_operations_of<double, Arch>()}};
}

}  // namespace attn::simd
#endif
