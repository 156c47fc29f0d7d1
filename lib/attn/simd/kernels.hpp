#pragma once
#include <optional>

#include "attn/simd/architecture.hpp"
#include "attn/simd/panels.hpp"
#include "attn/simd/rows.hpp"

namespace attn::simd {

/// What is compiled once for each instruction set.
template <class Real>
struct KernelsOf {
    RowOperations<Real> rows;
    PanelOperations<Real> panels;
};

struct Kernels {
    KernelsOf<float> float32;
    KernelsOf<double> float64;
};

Kernels sse2_kernels();
Kernels avx2_kernels();
Kernels avx512_kernels();
Kernels neon64_kernels();

/// The kernels for `architecture`, which the processor must have, or for the widest that it has;
/// nothing for a processor for which none are written.
template <class Real>
std::optional<KernelsOf<Real>> kernels_for(
    FusedArchitecture architecture = FusedArchitecture::automatic);

}  // namespace attn::simd
