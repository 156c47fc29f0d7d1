#pragma once
#include <string_view>

namespace attn {

/// The version of this library, `major.minor.patch`.
std::string_view version();

}  // namespace attn
