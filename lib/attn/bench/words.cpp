#include "attn/bench/words.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

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
