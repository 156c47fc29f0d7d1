#include "attn/text/number_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace attn {
namespace {

/// Writes the blanks before a text of `length` letters and its minus, and up to 16 blanks too many.
/// Without a branch that depends on the sign: guessing it wrong costs as much as all else.
inline char* write_lead(char* out, bool is_negative, std::size_t length, std::size_t width) {
    length += is_negative;
    std::memset(out, ' ', 16);
    if (width > length + 16) [[unlikely]]
        std::memset(out, ' ', width - length);
    out += std::max(width, length) - length;
    *out = '-';
    return out + is_negative;
}

char* write_not_finite(char* out, double value, std::size_t width) {
    out = write_lead(out, value < 0, 3, width);
    std::memcpy(out, std::isnan(value) ? "nan" : "inf", 3);
    return out + 3;
}

// The callers' buffer has room for anything, so the end that to_chars wants is out of reach.
char* limit(char* out) { return out + std::tuple_size_v<NumberBuffer>; }

template <class T>
char* write_shortest_as(char* out, T value, std::chars_format format) {
    if (!std::isfinite(value)) return write_not_finite(out, static_cast<double>(value), 0);
    return std::to_chars(out, limit(out), value, format).ptr;
}

template <class T>
char* write_scalar_as(char* out, T value) {
    const double magnitude = std::fabs(static_cast<double>(value));
    const bool in_exponent_form =
        !std::isfinite(value) || magnitude >= 1e16 || (magnitude < 1e-4 && magnitude != 0.0);
    if (in_exponent_form) return write_shortest(out, value);
    if (value != std::trunc(value)) return write_shortest_fixed(out, value);

    // Only the identifying digits are shown, the rest of a whole number is zeros.
    NumberBuffer buffer;
    const std::string_view shortest = written(buffer.data(), write_shortest(buffer.data(), value));
    const std::size_t exponent_at = shortest.find('e');
    int zeros = 1;
    std::from_chars(buffer.data() + exponent_at + 2, shortest.end(), zeros);
    char* first_digit = out;
    for (const char c : shortest.substr(0, exponent_at)) {
        if (c != '.') *out++ = c;
        if (c == '-') first_digit = out;
    }
    zeros += 1 - static_cast<int>(out - first_digit);
    out = std::fill_n(out, zeros, '0');
    return write_padded(out, ".0", 0);
}

/// Powers of ten, which doubles hold exactly.
constexpr std::array<double, 15> powers_of_ten = [] {
    std::array<double, 15> powers{1.0};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10.0;
    return powers;
}();

/// A magnitude below 2^51, rounded to even: where doubles lie 1 apart, a sum has no fraction.
struct RoundedToEven {
    static constexpr double shift = 4503599627370496.0;  // 2^52

    explicit RoundedToEven(double magnitude)
        : number(std::bit_cast<std::int64_t>(magnitude + shift) -
                 std::bit_cast<std::int64_t>(shift)),
          is_certain(magnitude < shift / 2 &&
                     std::fabs(magnitude - (magnitude + shift - shift)) < 0.5) {}

    std::int64_t number;
    /// A product or quotient that was rounded itself has never crossed a half, for halves are
    /// doubles here: only where it is one, the exact value may lie on either side.
    bool is_certain;
};

/// The digits of every number below 10,000, the first in the lowest byte: memory is little-endian.
static_assert(std::endian::native == std::endian::little);
constexpr std::array<std::uint32_t, 10'000> four_digits = [] {
    std::array<std::uint32_t, 10'000> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        table[i] = (i / 1000 | i / 100 % 10 << 8 | i / 10 % 10 << 16 | i % 10 << 24) | 0x30303030;
    }
    return table;
}();

/// Writes `count` digits, zeros before a shorter number, and up to four letters too many.
char* write_digits(char* out, std::int64_t number, int count) {
    if (count > 4) {
        out = write_digits(out, number / 10'000, count - 4);
        number %= 10'000;
        count = 4;
    }
    const std::uint64_t letters =
        std::uint64_t{four_digits[static_cast<std::size_t>(number)]} >> 8 * (4 - count);
    const auto four = static_cast<std::uint32_t>(letters);
    std::memcpy(out, &four, sizeof four);
    return out + count;
}

/// The way for any number.
char* write_slowly(char* out, double value, std::chars_format format, int precision,
                   std::size_t width) {
    NumberBuffer buffer;
    char* const begin = buffer.data();
    const char* end = std::to_chars(begin, limit(begin), value, format, precision).ptr;
    return write_padded(out, written(begin, end), width);
}

}  // namespace

char* write_padded(char* out, std::string_view text, std::size_t width) {
    if (width > text.size()) out = std::fill_n(out, width - text.size(), ' ');
    return std::copy(text.begin(), text.end(), out);
}

char* write_fixed(char* out, double value, int precision, std::size_t width) {
    if (!std::isfinite(value)) return write_not_finite(out, value, width);

    // Round to an integer that has the digits of the text.
    const double power = powers_of_ten[static_cast<std::size_t>(std::clamp(precision, 0, 14))];
    const RoundedToEven rounded(std::fabs(value) * power);
    if (precision < 0 || precision > 14 || !rounded.is_certain) {
        return write_slowly(out, value, std::chars_format::fixed, precision, width);
    }
    // Write what is before the point, then what is behind it. The quotient of such integers never
    // rounds up to the next one.
    const auto whole = static_cast<std::int64_t>(static_cast<double>(rounded.number) / power);
    int digits = 1 + (whole > 9) + (whole > 99) + (whole > 999);
    for (std::int64_t least = 10'000; whole >= least; least *= 10) ++digits;
    const int length = digits + (precision > 0) + precision;
    out = write_lead(out, std::signbit(value), static_cast<std::size_t>(length), width);
    out = write_digits(out, whole, digits);
    if (precision == 0) return out;
    *out++ = '.';
    return write_digits(out, rounded.number - whole * static_cast<std::int64_t>(power), precision);
}

char* write_scientific(char* out, double value, int precision, std::size_t width) {
    if (!std::isfinite(value)) return write_not_finite(out, value, width);
    return write_slowly(out, value, std::chars_format::scientific, precision, width);
}

char* write_shortest(char* out, double value) {
    return write_shortest_as(out, value, std::chars_format::scientific);
}

char* write_shortest(char* out, float value) {
    return write_shortest_as(out, value, std::chars_format::scientific);
}

char* write_shortest_fixed(char* out, double value) {
    return write_shortest_as(out, value, std::chars_format::fixed);
}

char* write_shortest_fixed(char* out, float value) {
    return write_shortest_as(out, value, std::chars_format::fixed);
}

char* write_integer(char* out, std::int64_t value) {
    return std::to_chars(out, limit(out), value).ptr;
}

char* write_scalar(char* out, double value) { return write_scalar_as(out, value); }

char* write_scalar(char* out, float value) { return write_scalar_as(out, value); }

std::string brief(double number) {
    return std::isnan(number) ? "nan" : fmt::format("{:.4g}", number);
}

std::string six_digits(double number) {
    const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
    return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

std::string four_decimals(double number) {
    if (std::isnan(number)) return "nan";  // of either sign
    if (!std::isfinite(number)) return fmt::format("{}", number);
    const double size = std::abs(number);
    if (size != 0 && (size < 5e-5 || size >= 1e7)) return fmt::format("{:.3e}", number);
    return fmt::format("{:.4f}", number);
}

}  // namespace attn
