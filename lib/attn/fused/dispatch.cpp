#include "attn/fused/dispatch.hpp"

#include <algorithm>
#include <string>

#include "attn/tensor/error.hpp"

namespace attn::fused {

namespace {

[[noreturn]] void refuse(FusedArchitecture architecture,
                         const std::vector<FusedArchitecture>& available) {
    if (available.empty()) {
        throw ConfigError(
            "the fused kernel is not built for this kind of processor: use the vectorized variant");
    }
    std::string names;
    for (FusedArchitecture offered : available)
        names += " " + std::string(architecture_name(offered));
    throw ConfigError("this processor cannot run " + std::string(architecture_name(architecture)) +
                      ": choose automatic or one of" + names);
}

}  // namespace

Kernels choose_kernels(FusedArchitecture architecture) {
    static const std::vector<FusedArchitecture> available = available_architectures();
    if (architecture == FusedArchitecture::automatic && !available.empty()) {
        architecture = available.back();
    }
    if (std::find(available.begin(), available.end(), architecture) == available.end()) {
        refuse(architecture, available);
    }
#if defined(__x86_64__)
    if (architecture == FusedArchitecture::avx512) return avx512_kernels();
    if (architecture == FusedArchitecture::avx2) return avx2_kernels();
    return sse2_kernels();
#elif defined(__aarch64__)
    return neon64_kernels();
#else
    refuse(architecture, available);
#endif
}

}  // namespace attn::fused
