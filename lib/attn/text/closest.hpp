#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The candidate that `word` was most likely meant to be, or nothing when none is near: the same
/// but for case and dashes, else what others call so, else one that is spelt nearly so.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// How an error about an unknown word ends: `; did you mean weights?`, or as `otherwise` says.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

/// The candidate, with its value, for which `word` is another name, without leading dashes:
/// `kv-heads` for `num_kv_heads`, `mask causal` for `is_causal`; empty when there is none.
std::string called_here(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace attn
