#include "attn/simd/architecture.hpp"

#include <array>
#include <cstddef>

#include "attn/simd/with_avx2.hpp"

namespace attn {

std::string_view architecture_name(FusedArchitecture architecture) {
    static constexpr std::array<std::string_view, 5> names{"automatic", "sse2", "avx2", "avx512",
                                                           "neon64"};
    return names[static_cast<std::size_t>(architecture)];
}

std::vector<FusedArchitecture> available_architectures() {
#if defined(__x86_64__)
    std::vector<FusedArchitecture> available{FusedArchitecture::sse2};
    if (has_avx2()) {
        available.push_back(FusedArchitecture::avx2);
        if (__builtin_cpu_supports("avx512f")) available.push_back(FusedArchitecture::avx512);
    }
    return available;
#elif defined(__aarch64__)
    return {FusedArchitecture::neon64};
#else
    return {};
#endif
}

}  // namespace attn
