#pragma once
#include <string>

#include "attn/text/numbers.hpp"

namespace attn {

/// `text` filled up with blanks to `width` columns.
std::string padded(std::string text, std::size_t width);

/// A number as JSON can say it: itself, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// A string as JSON text, quoted and escaped.
std::string json_string(const std::string& text);

}  // namespace attn
