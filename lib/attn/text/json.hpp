#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A string as JSON text, quoted and escaped. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// A number as JSON can say it: the shortest text that reads back, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// A list of strings.
std::string json_list(const std::vector<std::string>& texts);

}  // namespace attn
