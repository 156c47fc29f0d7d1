#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The candidate that `word` was most likely meant to be, or nothing when none is near.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace attn
