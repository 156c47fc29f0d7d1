#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "attn/render/digits.hpp"
#include "attn/render/powers_of_ten.hpp"

namespace attn {

/// Writes numbers in exponent form with up to six decimals, aligned to the right: the texts of
/// write_scientific, found by one multiplication and a look-up for every four digits.
class ScientificCells {
public:
    static bool suits(int precision) { return precision <= 6; }

    /// `has_point` asks for a point even where there are no decimals.
    ScientificCells(int precision, bool has_point, std::size_t width)
        : precision_(precision),
          too_many_(1),
          cut_(static_cast<unsigned>(8 * (7 - precision))),
          exponent_at_(static_cast<std::size_t>(precision + 1 + (has_point || precision > 0))) {
        for (int i = 0; i <= precision; ++i) too_many_ *= 10;
        for (const std::size_t minus : {0, 1}) {
            const std::size_t length = minus + exponent_at_ + 4;
            blanks_[minus] = std::max(width, length) - length;
        }
    }

    /// Returns null where the number is too large or too small, or so close to a tie that only the
    /// exact value can tell its last digit.
    char* write(char* out, double value) const {
        // Find the decimal exponent by the binary one and one comparison.
        const double magnitude = std::fabs(value);
        const auto biased =
            static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(magnitude) >> 52);
        std::uint32_t binade = biased - first_binade;
        if (binade >= binades.size()) {
            if (magnitude != 0.0) return nullptr;
            binade = 1023 - first_binade;
        }
        int exponent = binades[binade].exponent;
        exponent += static_cast<int>(magnitude >= binades[binade].next_power);

        // Round to as many digits as are shown. A carry gives one more.
        const double product = magnitude * power_of_ten(precision_ - exponent);
        const RoundedHalfEven rounded(product);
        if (std::fabs(product - rounded.value()) > 0.5 - doubt) [[unlikely]]
            return nullptr;
        std::uint64_t number = rounded.integer();
        if (number == too_many_) [[unlikely]] {
            number /= 10;
            ++exponent;
        }

        // Each word written here covers what the one before has written too far.
        const bool is_negative = std::signbit(value);
        const std::uint64_t digits = eight_digits(number) >> cut_;
        out = write_blanks(out, blanks_[is_negative]);
        *out = '-';
        out += is_negative;
        store(out, (digits & 0xFF) | '.' << 8 | (digits & ~std::uint64_t{0xFF}) << 8);
        store(out + exponent_at_, exponents[static_cast<std::size_t>(exponent + most)]);
        return out + exponent_at_ + 4;
    }

private:
    /// With such a power a product errs by less than 2^-50 of itself, 9e-9 for seven digits.
    static constexpr double doubt = 1e-7;

    /// 2^-196 to 2^196 lie between 10^-60 and 10^60.
    static constexpr std::uint32_t first_binade = 1023 - 196;
    static constexpr int most = 60;

    /// The numbers from one power of two to the next contain at most one power of ten.
    struct Binade {
        int exponent;       ///< of ten, for the numbers below that power
        double next_power;  ///< should its last bit be wrong, rounding makes up for it
    };
    static constexpr std::array<Binade, 393> binades = [] {
        std::array<Binade, 393> table{};
        double least = 1.0;
        for (int i = 0; i < 196; ++i) least /= 2;
        int exponent = -most;
        for (Binade& binade : table) {
            while (power_of_ten(exponent + 1) <= least) ++exponent;
            binade = {exponent, power_of_ten(exponent + 1)};
            least *= 2;
        }
        return table;
    }();

    /// `e-60` to `e+60`.
    static constexpr std::array<std::uint32_t, 2 * most + 1> exponents = [] {
        std::array<std::uint32_t, 2 * most + 1> table{};
        for (int i = -most; i <= most; ++i) {
            const auto size = static_cast<std::uint32_t>(i < 0 ? -i : i);
            table[static_cast<std::size_t>(i + most)] =
                'e' | (i < 0 ? '-' : '+') << 8 | (size / 10 + '0') << 16 | (size % 10 + '0') << 24;
        }
        return table;
    }();

    int precision_;
    std::uint64_t too_many_;
    unsigned cut_;
    std::size_t exponent_at_;
    std::size_t blanks_[2];  ///< before a number without and with a minus
};

}  // namespace attn
