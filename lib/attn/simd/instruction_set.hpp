#pragma once
#include <string_view>
#include <vector>

namespace attn {

/// The instruction sets that the kernels are compiled for. `automatic` is the widest that the
/// processor offers.
enum class InstructionSet { automatic, sse2, avx2, avx512, neon64 };

/// `automatic`, `sse2`, `avx2`, `avx512` or `neon64`.
std::string_view instruction_set_name(InstructionSet set);

/// The instruction sets that this processor can run, narrowest first.
std::vector<InstructionSet> available_instruction_sets();

}  // namespace attn
