#if defined(__aarch64__)
#include "attn/tensor/row_kernel.hpp"

namespace attn::simd {

RowKernels neon64_row_kernels() {
    using Arch = xsimd::neon64;
    return {row_operations_of<float, Arch>(), row_operations_of<double, Arch>()};
}

}  // namespace attn::simd
#endif
