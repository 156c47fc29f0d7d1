#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The texts of the walk, one after another.
std::string_view all_walk_texts();
/// The texts that the steps of a walk are made of: `standard`, then its variants as
/// `standard/sink`.
std::vector<std::string> walk_texts();
/// Returns one of these texts, an empty one for another name.
std::string text_of_walk(std::string_view name);

}  // namespace attn
