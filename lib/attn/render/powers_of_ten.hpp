#pragma once
#include <array>
#include <cstddef>

namespace attn {

inline constexpr int least_power_of_ten = -60;
inline constexpr int greatest_power_of_ten = 66;

inline constexpr auto powers_of_ten = [] {
    std::array<double, greatest_power_of_ten - least_power_of_ten + 1> table{};
    for (int i = least_power_of_ten; i <= greatest_power_of_ten; ++i) {
        const int size = i < 0 ? -i : i;
        double power = 1.0;
        for (int k = 0; k < size % 22; ++k) power *= 10.0;
        for (int k = 0; k < size / 22; ++k) power *= 1e22;
        table[static_cast<std::size_t>(i - least_power_of_ten)] = i < 0 ? 1.0 / power : power;
    }
    return table;
}();

/// 10^exponent: exact from 10^0 to 10^22. Others come from exact powers by at most three operations
/// that round, so that they err by less than 4 * 2^-53 of themselves.
///
/// Range  exponent from -60 to 66.
constexpr double power_of_ten(int exponent) {
    return powers_of_ten[static_cast<std::size_t>(exponent - least_power_of_ten)];
}

}  // namespace attn
