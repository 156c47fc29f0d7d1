#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace attn {

/// Parses `text`.
/// Errors  InputError, starting with `label`, naming line and column: text that is no JSON, lists
///         or objects more than 64 deep, a key that occurs twice in one object.
nlohmann::json parse_json(std::string_view text, const std::string& label);

}  // namespace attn
