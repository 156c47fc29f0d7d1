#pragma once
#include "attn/fused/kernel.hpp"
#include "attn/simd/architecture.hpp"

namespace attn::fused {

/// The kernels for `architecture`, or for the widest one that this processor offers.
/// Errors  ConfigError when the processor lacks it.
Kernels choose_kernels(FusedArchitecture architecture);

template <class Real>
const Kernel<Real>& kernel_for(const Kernels& kernels) {
    if constexpr (sizeof(Real) == sizeof(float)) {
        return kernels.float32;
    } else {
        return kernels.float64;
    }
}

}  // namespace attn::fused
