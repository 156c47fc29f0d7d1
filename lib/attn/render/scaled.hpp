#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "attn/render/digits.hpp"

namespace attn {

/// 10^0 to 10^22 are doubles, and these are most that the fast ways need.
inline double power_of_ten(int exponent) {
    static constexpr std::array<double, 9> powers{1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    return powers[static_cast<std::size_t>(exponent)];
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

/// The rounded digits of a number in exponent form, found by one multiplication in double. Where
/// that is too close to a tie to tell, and beyond 10^-59 and 10^59, they are not known.
class ScientificDigits {
public:
    static bool suits(int precision) { return precision <= 7; }

    ScientificDigits(double value, int precision) : is_negative_(std::signbit(value)) {
        // Estimate the decimal exponent from the binary one; 1233 / 4096 is a little below lg 2.
        const double magnitude = std::fabs(value);
        const auto binary = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52) - 1023;
        exponent_ = (binary * 1233) >> 12;
        if (exponent_ < -most || exponent_ >= most) return;
        exponent_ += magnitude >= power(exponent_ + 1);

        // Scale to an integer of precision + 1 digits and round where the fraction is no half.
        const double product = magnitude * power(precision - exponent_);
        const RoundedHalfEven rounded(product);
        if (std::fabs(product - rounded.value()) > 0.5 - doubt) return;
        std::uint64_t integer = rounded.integer();
        if (rounded.value() >= power(precision + 1)) {
            integer = static_cast<std::uint64_t>(power(precision));
            ++exponent_;
        }
        letters_ = eight_digits(integer) >> 8 * (7 - precision);
        // Fewer digits than there must be would be a wrong estimate.
        are_known_ = rounded.value() >= power(precision);
    }

    bool are_known() const { return are_known_; }
    bool is_negative() const { return is_negative_; }

    /// Writes the number. `tail` counts the point and the decimals; it is 0 where neither is shown.
    char* write(char* out, std::size_t tail) const {
        *out = '-';
        out += is_negative_;
        *out++ = static_cast<char>(letters_);
        store(out, (letters_ & ~std::uint64_t{0xFF}) | '.');
        out += tail;
        const int size = exponent_ < 0 ? -exponent_ : exponent_;
        const auto digits = static_cast<std::uint64_t>(four_digits[static_cast<unsigned>(size)]);
        const std::uint64_t sign = exponent_ < 0 ? '-' : '+';
        store(out, 'e' | sign << 8 | digits >> 16 << 16);
        return out + 4;
    }

private:
    /// The products err by less than 2^-51 of themselves: three roundings in the power, one more.
    /// That is 5e-8 for eight digits.
    static constexpr double doubt = 1e-6;
    static constexpr int most = 59;
    static constexpr int least_power = -60;
    static constexpr int most_power = 67;

    static double power(int exponent) {
        static constexpr auto powers = [] {
            std::array<double, most_power - least_power + 1> table{};
            for (int i = least_power; i <= most_power; ++i) {
                // up to 10^22 every product is exact
                double product = 1.0;
                double small = 1.0;
                const int size = i < 0 ? -i : i;
                for (int k = 0; k < size / 22; ++k) product *= 1e22;
                for (int k = 0; k < size % 22; ++k) small *= 10.0;
                product *= small;
                table[static_cast<std::size_t>(i - least_power)] = i < 0 ? 1.0 / product : product;
            }
            return table;
        }();
        return powers[static_cast<std::size_t>(exponent - least_power)];
    }

    std::uint64_t letters_ = 0;
    int exponent_ = 0;
    bool is_negative_;
    bool are_known_ = false;
};

}  // namespace attn
