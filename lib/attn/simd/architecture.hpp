#pragma once
#include <string_view>
#include <vector>

namespace attn {

/// The instruction sets that the fused kernel is compiled for. `automatic` is the widest that the
/// processor offers.
enum class FusedArchitecture { automatic, sse2, avx2, avx512, neon64 };

/// `automatic`, `sse2`, `avx2`, `avx512` or `neon64`.
std::string_view architecture_name(FusedArchitecture architecture);

/// The architectures that this processor can run, narrowest first.
std::vector<FusedArchitecture> available_architectures();

}  // namespace attn
