#pragma once
#include "attn/bench/attend.hpp"
#include "attn/walk/words.hpp"

namespace attn {

template <>
inline constexpr std::array<std::pair<std::string_view, InstructionSet>, 4> words<InstructionSet>{
    {{"sse2", InstructionSet::sse2},
     {"avx2", InstructionSet::avx2},
     {"avx512", InstructionSet::avx512},
     {"neon64", InstructionSet::neon64}}};

}  // namespace attn
