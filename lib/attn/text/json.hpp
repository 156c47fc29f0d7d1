#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A string as JSON text, quoted and escaped, bidi controls too. Bytes that are not UTF-8 become
/// U+FFFD.
std::string json_string(std::string_view text);

/// JSON text that another writer made, the controls in its strings escaped.
std::string without_controls(std::string_view json);

/// The text of a whole document of that writer's, made as the strings above are.
template <class Json>
std::string json_text(const Json& json, int indent = 1) {
    return without_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// A number as JSON can say it: the shortest text that reads back, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// A list of strings.
std::string json_list(const std::vector<std::string>& texts);

}  // namespace attn
