#pragma once
#include <string>

namespace attn {

/// A number for a sentence: four significant digits, `nan`, `inf`, `-inf`.
std::string brief(double number);

/// A number with four decimals, or in powers of ten where that would show nothing of it.
std::string four_decimals(double number);

/// `text` filled up with blanks to `width` columns.
std::string padded(std::string text, std::size_t width);

/// A number as JSON can say it: itself, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// A string as JSON text, quoted and escaped.
std::string json_string(const std::string& text);

}  // namespace attn
