#include "attn/ground/text/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

/// Returns the text by `to_chars` for a number and the given format.
template <class T, class... Form>
std::string text_of(T value, Form... form) {
    if (std::isnan(value)) return "nan";
    // Space for a sign, 309 digits, a point and all decimals.
    std::array<char, 311 + most_decimals> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form...);
    return {buffer.data(), end.ptr};
}

template <class T>
std::string scalar_text_of(T value) {
    const double magnitude = std::fabs(static_cast<double>(value));
    const bool has_exponent = !(magnitude < 1e16) || (magnitude < 1e-4 && magnitude != 0);
    if (!has_exponent && value != std::trunc(value)) return shortest_fixed_text(value);
    std::string digits = shortest_text(value);
    if (has_exponent) return digits;

    // Only the identifying digits are shown; the remaining ones of an integer are zeros.
    const std::size_t exponent_at = digits.find('e');
    const auto places = static_cast<std::size_t>(std::stoi(digits.substr(exponent_at + 1))) + 1;
    digits.resize(exponent_at);
    std::erase(digits, '.');
    digits.resize(places + (digits.front() == '-'), '0');
    return digits + ".0";
}

}  // namespace

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

std::string fixed_text(double value, int precision) {
    return text_of(value, std::chars_format::fixed, precision);
}

std::string scientific_text(double value, int precision) {
    return text_of(value, std::chars_format::scientific, precision);
}

std::string shortest_text(double value) { return text_of(value, std::chars_format::scientific); }

std::string shortest_text(float value) { return text_of(value, std::chars_format::scientific); }

std::string shortest_fixed_text(double value) { return text_of(value, std::chars_format::fixed); }

std::string shortest_fixed_text(float value) { return text_of(value, std::chars_format::fixed); }

std::string scalar_text(double value) { return scalar_text_of(value); }

std::string scalar_text(float value) { return scalar_text_of(value); }

float as_printed(float value, DType type) {
    if (!is_16_bit(type) || !std::isfinite(value)) return value;
    float read = value;
    for (int decimals = 0; decimals < 5; ++decimals) {
        const std::string text = scientific_text(static_cast<double>(value), decimals);
        std::from_chars(text.data(), text.data() + text.size(), read);
        if (nearest(read, type) == value) break;
    }
    return read;
}

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
