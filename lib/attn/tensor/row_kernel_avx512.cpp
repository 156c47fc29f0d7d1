#if defined(__x86_64__)
#include "attn/tensor/row_kernel.hpp"

namespace attn::simd {

RowKernels avx512_row_kernels() {
    using Arch = xsimd::avx512f;
    return {row_operations_of<float, Arch>(), row_operations_of<double, Arch>()};
}

}  // namespace attn::simd
#endif
