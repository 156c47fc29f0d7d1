#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace attn {

/// Text as machine words: the first letter in the lowest byte, as little-endian memory has it.
static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint64_t eight_blanks = 0x2020202020202020;
inline constexpr std::uint64_t eight_zeros = 0x3030303030303030;

/// The digits of every number below 10,000, padded with zeros: one letter a byte.
inline constexpr std::array<std::uint32_t, 10'000> four_digits = [] {
    std::array<std::uint32_t, 10'000> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        table[i] = (i / 1000 | i / 100 % 10 << 8 | i / 10 % 10 << 16 | i % 10 << 24) |
                   static_cast<std::uint32_t>(eight_zeros);
    }
    return table;
}();

/// The same with blanks in place of the zeros at the end: decimals that are not needed.
inline constexpr std::array<std::uint32_t, 10'000> four_trimmed_digits = [] {
    std::array<std::uint32_t, 10'000> table = four_digits;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t rest = i;
        for (int at = 24; at >= 0 && rest % 10 == 0; at -= 8, rest /= 10) {
            table[i] ^= std::uint32_t{'0' ^ ' '} << at;
        }
    }
    return table;
}();

/// The digits of a number below 100,000,000, padded with zeros.
inline std::uint64_t eight_digits(std::uint64_t number) {
    const auto small = static_cast<std::uint32_t>(number);
    return four_digits[small / 10'000] | std::uint64_t{four_digits[small % 10'000]} << 32;
}

/// Writes all eight letters of a word.
inline void store(char* out, std::uint64_t letters) { std::memcpy(out, &letters, sizeof letters); }

/// Writes `count` blanks, and up to seven more that the next letters overwrite.
inline char* write_blanks(char* out, std::size_t count) {
    store(out, eight_blanks);
    if (count > 8) std::memset(out + 8, ' ', count - 8);
    return out + count;
}

/// A scaled magnitude below 2^51, rounded half to even in the processor's way: where the spacing of
/// doubles is 1, the sum has no place for a fraction.
class RoundedHalfEven {
public:
    explicit RoundedHalfEven(double scaled) : sum_(scaled + shift) {}
    std::uint64_t integer() const {
        return std::bit_cast<std::uint64_t>(sum_) - std::bit_cast<std::uint64_t>(shift);
    }
    double value() const { return sum_ - shift; }

private:
    static constexpr double shift = 4503599627370496.0;  // 2^52
    double sum_;
};

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

/// The magnitude of a number times a power of ten up to 10^7, to be rounded to an integer: these
/// are the digits of its fixed form.
///
/// The product of a float (24 bits) and 10^7 (17 bits without its factors 2) is exact. That of a
/// double may be rounded, which moves it up to a half but never across one, as halves are doubles
/// here. So only a product that is a half is in doubt, and is not known to be below any limit.
template <class T>
class Scaled {
public:
    Scaled(T value, double power)
        : product_(std::fabs(static_cast<double>(value)) * power),
          rounded_(product_),
          is_negative_(std::signbit(value)) {}

    /// Range  limit at most 10^15.  A nan is below nothing.
    bool is_below(double limit) const {
        if constexpr (std::is_same_v<T, double>) {
            if (std::fabs(product_ - rounded_.value()) == 0.5) return false;
        }
        return product_ < limit;
    }
    bool is_negative() const { return is_negative_; }

    /// Half to even. Only of a product below the limit.
    std::uint64_t rounded() const { return rounded_.integer(); }

private:
    double product_;
    RoundedHalfEven rounded_;
    bool is_negative_;
};

}  // namespace attn
