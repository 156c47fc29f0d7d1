#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// The decimals that any double can have. More of them would only add zeros.
inline constexpr int most_decimals = 1074;

/// Room for any text that the functions below write: sign, 309 digits, point, decimals, and 32
/// letters more that fast ways may write behind it.
using NumberBuffer = std::array<char, 311 + most_decimals + 32>;

/// The functions below write the text of one number at `out`, without regard to the locale, and
/// return its end. Digits are rounded correctly, ties on the exact binary value to even. Every
/// not-a-number is `nan`, whatever its sign bit; infinities are `inf` and `-inf`. Blanks fill
/// `width` columns before a shorter text.

/// C's `%.{precision}f`.  Range  precision from 0 to most_decimals.
char* write_fixed(char* out, double value, int precision, std::size_t width = 0);

/// C's `%.{precision}e`.  Range  as write_fixed.
char* write_scientific(char* out, double value, int precision, std::size_t width = 0);

/// The fewest digits that identify the value among those of its type, in exponent form:
/// `1e-05`, `1.25e+100`.
char* write_shortest(char* out, double value);
char* write_shortest(char* out, float value);

/// The same digits without an exponent. A whole number has no point and all its digits.
char* write_shortest_fixed(char* out, double value);
char* write_shortest_fixed(char* out, float value);

char* write_integer(char* out, std::int64_t value);

/// The text of a number by itself, as Python and NumPy print one: the shortest digits, in exponent
/// form below 1e-4 and from 1e16 on, and otherwise with at least one decimal.
char* write_scalar(char* out, double value);
char* write_scalar(char* out, float value);

/// The text that was written from `begin` to `end`.
inline std::string_view written(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

/// Writes a text that is not longer than a NumberBuffer.
char* write_padded(char* out, std::string_view text, std::size_t width);

/// The length of the text that `write(out)` writes.
template <class Write>
std::size_t written_length(Write&& write) {
    NumberBuffer buffer;
    return static_cast<std::size_t>(write(buffer.data()) - buffer.data());
}

/// A number for a sentence: four significant digits, `nan`, `inf`, `-inf`.
std::string brief(double number);

/// A number for a formula: a whole one as it is, others with six significant digits.
std::string six_digits(double number);

/// A number with four decimals, or in powers of ten where that would show nothing of it.
std::string four_decimals(double number);

}  // namespace attn
