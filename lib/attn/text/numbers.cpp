#include "attn/text/numbers.hpp"

#include <cmath>

#include <fmt/format.h>

namespace attn {

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
