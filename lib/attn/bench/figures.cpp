#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "attn/bench/bench.hpp"

namespace attn {
namespace {

struct Unit {
    double size;
    const char* name;
};

/// Three digits in the largest unit of which there is at least one.
template <std::size_t N>
std::string in_units(double number, const std::array<Unit, N>& units) {
    std::size_t place = 0;
    // 999.5 is written as 1000, and so belongs to the next unit.
    while (place + 1 < N && number >= 0.9995 * units[place + 1].size) ++place;
    const double shown = number / units[place].size;
    const int decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", shown, decimals, units[place].name);
}

}  // namespace

std::optional<double> fitted_exponent(const std::vector<std::pair<double, double>>& points) {
    const auto count = static_cast<double>(points.size());
    double mean_x = 0;
    double mean_y = 0;
    for (const auto& [x, y] : points) {
        mean_x += std::log(x) / count;
        mean_y += std::log(y) / count;
    }
    double covariance = 0;
    double variance = 0;
    bool differ = false;
    for (const auto& [x, y] : points) {
        const double from_mean = std::log(x) - mean_x;
        covariance += from_mean * (std::log(y) - mean_y);
        variance += from_mean * from_mean;
        differ = differ || x != points.front().first;
    }
    if (!differ) return std::nullopt;
    return covariance / variance;
}

double median(std::vector<double> numbers) {
    assert(!numbers.empty());
    std::sort(numbers.begin(), numbers.end());
    const std::size_t middle = numbers.size() / 2;
    if (numbers.size() % 2 == 1) return numbers[middle];
    return (numbers[middle - 1] + numbers[middle]) / 2;
}

std::string time_text(double seconds) {
    static constexpr std::array<Unit, 4> units{
        {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
    return in_units(seconds, units);
}

std::string bytes_text(double bytes) {
    static constexpr std::array<Unit, 5> units{
        {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
    if (bytes < 999.5) return fmt::format("{:.0f} B", bytes);
    return in_units(bytes, units);
}

}  // namespace attn
