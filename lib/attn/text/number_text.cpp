#include "attn/text/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "attn/text/digits.hpp"

namespace attn {
namespace {

char* write_word(char* out, std::string_view word) {
    return std::copy(word.begin(), word.end(), out);
}

char* write_non_finite(char* out, double value) {
    if (std::isnan(value)) return write_word(out, "nan");
    return write_word(out, value < 0 ? "-inf" : "inf");
}

// The callers' buffer has room for anything, so the end that to_chars wants is out of reach.
char* limit(char* out) { return out + std::tuple_size_v<NumberBuffer>; }

template <class T>
char* write_shortest_as(char* out, T value, std::chars_format format) {
    if (!std::isfinite(value)) return write_non_finite(out, static_cast<double>(value));
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
    const std::string_view shortest(buffer.data(), write_shortest(buffer.data(), value));
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
    return write_word(out, ".0");
}

/// Fixed form by integers, for usual sizes. Returns null where the general way must be taken.
char* write_fixed_quickly(char* out, double value, int precision) {
    constexpr double most = 4503599627370496.0;  // 2^52: below it doubles have halves
    if (precision < 0 || precision > 9) return nullptr;
    const double power = power_of_ten(precision);
    const double magnitude = std::fabs(value);
    const double product = magnitude * power;
    if (!(product < most)) return nullptr;

    // Round to even. The product was rounded itself, but that never took it across a half: only
    // where it is one, what the rounding has dropped decides.
    auto whole = static_cast<std::uint64_t>(product);
    const double above_half = product - static_cast<double>(whole) - 0.5;
    if (above_half > 0) {
        ++whole;
    } else if (above_half == 0) {
        const double dropped = std::fma(magnitude, power, -product);
        if (dropped > 0 || (dropped == 0 && whole % 2 == 1)) ++whole;
    }

    // Write the digits before the point, then those behind it from the last on.
    if (std::signbit(value)) *out++ = '-';
    const auto divisor = static_cast<std::uint64_t>(power);
    out = std::to_chars(out, limit(out), whole / divisor).ptr;
    if (precision == 0) return out;
    *out = '.';
    std::uint64_t behind = whole % divisor;
    for (char* digit = out + precision; digit != out; --digit, behind /= 10) {
        *digit = static_cast<char>('0' + behind % 10);
    }
    return out + precision + 1;
}

}  // namespace

char* write_fixed(char* out, double value, int precision) {
    if (!std::isfinite(value)) return write_non_finite(out, value);
    if (char* end = write_fixed_quickly(out, value, precision)) return end;
    return std::to_chars(out, limit(out), value, std::chars_format::fixed, precision).ptr;
}

char* write_scientific(char* out, double value, int precision) {
    if (!std::isfinite(value)) return write_non_finite(out, value);
    return std::to_chars(out, limit(out), value, std::chars_format::scientific, precision).ptr;
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

}  // namespace attn
