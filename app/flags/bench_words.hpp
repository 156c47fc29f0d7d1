#pragma once
#include "attn/bench/attend.hpp"
#include "attn/walk/words.hpp"

namespace attn {

template <>
inline constexpr std::array<std::pair<std::string_view, FusedArchitecture>, 4>
    words<FusedArchitecture>{{{"sse2", FusedArchitecture::sse2},
                              {"avx2", FusedArchitecture::avx2},
                              {"avx512", FusedArchitecture::avx512},
                              {"neon64", FusedArchitecture::neon64}}};

}  // namespace attn
