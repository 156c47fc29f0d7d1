#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Returns the texts of the walk, joined.
std::string_view all_walk_texts();
/// Returns the names of the walk's texts: `standard`, then its variants, such as `standard/sink`.
std::vector<std::string> walk_texts();
/// Returns one of these texts, an empty one for another name.
std::string text_of_walk(std::string_view name);

}  // namespace attn
