#pragma once
#include <string>

namespace attn {

/// A number for a sentence: four significant digits, `nan`, `inf`, `-inf`.
std::string brief(double number);

/// A number for a formula: a whole one as it is, others with six significant digits.
std::string six_digits(double number);

/// A number with four decimals, or in powers of ten where that would show nothing of it.
std::string four_decimals(double number);

}  // namespace attn
