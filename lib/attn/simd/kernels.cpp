#include "attn/simd/kernels.hpp"

namespace attn::simd {
namespace {

std::optional<Kernels> choose([[maybe_unused]] FusedArchitecture architecture) {
#if defined(__x86_64__)
    if (architecture == FusedArchitecture::automatic)
        architecture = available_architectures().back();
    if (architecture == FusedArchitecture::avx512) return avx512_kernels();
    if (architecture == FusedArchitecture::avx2) return avx2_kernels();
    return sse2_kernels();
#elif defined(__aarch64__)
    return neon64_kernels();
#else
    return std::nullopt;
#endif
}

}  // namespace

template <>
std::optional<KernelsOf<float>> kernels_for(FusedArchitecture architecture) {
    const std::optional<Kernels> kernels = choose(architecture);
    return kernels ? std::optional(kernels->float32) : std::nullopt;
}

template <>
std::optional<KernelsOf<double>> kernels_for(FusedArchitecture architecture) {
    const std::optional<Kernels> kernels = choose(architecture);
    return kernels ? std::optional(kernels->float64) : std::nullopt;
}

}  // namespace attn::simd
