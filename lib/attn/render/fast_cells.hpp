#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attn/text/digits.hpp"

/// Ways to write one floating value that suit most tensors. Each leaves a number that it does not
/// suit to `WriteAny`, which can write every number, and gives the same text wherever both can.

namespace attn {

/// The integers from 0 to 999, then the same with a minus, aligned to the right in four letters.
inline constexpr std::array<std::uint32_t, 2000> signed_integers = [] {
    std::array<std::uint32_t, 2000> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t letters = 0x20202020;
        int at = 24;
        std::uint32_t rest = i % 1000;
        do {
            letters ^= std::uint32_t{' ' ^ '0' ^ (rest % 10)} << at;
            rest /= 10;
            at -= 8;
        } while (rest != 0);
        if (i >= 1000) letters ^= std::uint32_t{' ' ^ '-'} << at;
        table[i] = letters;
    }
    return table;
}();

/// Fixed form of one to four decimals for magnitudes below a thousand: the fastest way.
/// `decimals_of` are four_digits or four_trimmed_digits.
template <class T, class WriteAny, const std::array<std::uint32_t, 10'000>& decimals_of>
class SmallCell {
public:
    static bool suits(int decimals) { return decimals >= 1 && decimals <= 4; }

    /// `before_point` columns, the point, then what fills the width. No number is written whose
    /// scaled magnitude is not below `limit`.
    SmallCell(int decimals, std::size_t before_point, std::size_t width, double limit,
              WriteAny write_any)
        : write_any_(write_any),
          power_(power_of_ten(decimals)),
          fill_(static_cast<std::uint64_t>(power_of_ten(4 - decimals))),
          blanks_(before_point - std::min<std::size_t>(before_point, 4)),
          cut_(static_cast<unsigned>(8 * (4 - std::min<std::size_t>(before_point, 4)))),
          before_point_(before_point),
          width_(width) {
        // A number of n digits before the point, and as many as there is room for.
        for (const std::size_t minus : {0, 1}) {
            const auto digits = static_cast<int>(
                std::min<std::size_t>(3, before_point - std::min(before_point, minus)));
            const double most = power_of_ten(digits + decimals) - 0.5;
            limit_[minus] = digits == 0 ? 0.0 : std::min(limit, most);
        }
        if (width <= 16) {
            char* const text = reinterpret_cast<char*>(hidden_);
            hidden_width_ = static_cast<std::size_t>(
                write_any_(text, -std::numeric_limits<T>::infinity()) - text);
        }
    }

    char* operator()(char* out, T value) const {
        const Scaled<T> scaled(value, power_);
        if (!scaled.is_below(limit_[scaled.is_negative()])) [[unlikely]] {
            const bool hidden = value == -std::numeric_limits<T>::infinity();
            return hidden && hidden_width_ > 0 ? write_hidden(out) : write_any_(out, value);
        }
        const auto digits = static_cast<std::uint32_t>(scaled.rounded() * fill_);
        const std::uint32_t integer =
            signed_integers[digits / 10'000 + (scaled.is_negative() ? 1000 : 0)];
        const std::uint64_t decimals = decimals_of[digits % 10'000];
        if (blanks_ > 0) write_blanks(out, blanks_);
        store(out + blanks_, std::uint64_t{integer} >> cut_);
        store(out + before_point_, decimals << 8 | '.');
        return out + width_;
    }

private:
    char* write_hidden(char* out) const {
        store(out, hidden_[0]);
        store(out + 8, hidden_[1]);
        return out + hidden_width_;
    }

    WriteAny write_any_;
    double power_;
    double limit_[2];  ///< for numbers without and with a minus
    std::uint64_t fill_;
    std::size_t blanks_;
    unsigned cut_;
    std::size_t before_point_;
    std::size_t width_;
    // Of causal attention half the scores are hidden, so the text of -inf is kept.
    std::uint64_t hidden_[4] = {};
    std::size_t hidden_width_ = 0;  ///< 0 when it is too long to be kept
};

/// The point and seven decimals with blanks in place of the zeros at the end.
inline std::uint64_t without_end_zeros(std::uint64_t letters) {
    // Counted from the other side: processors without lzcnt count from above slowly.
    const std::uint64_t from_the_end = __builtin_bswap64(letters ^ (eight_zeros << 8));
    const auto end_zeros = static_cast<unsigned>(std::countr_zero(from_the_end) & ~7);
    const std::uint64_t kept = ~std::uint64_t{0} >> end_zeros;
    return (letters & kept) | (eight_blanks & ~kept);
}

/// Fixed form for numbers of up to eight digits in all. With `trims`, blanks stand in place of the
/// zeros at the end.
template <class T, class WriteAny, bool trims>
class FixedCell {
public:
    static bool suits(int decimals) { return decimals <= 7; }

    /// `before_point` columns, then the point and what is behind it: `after_point` columns. No
    /// number is written whose scaled magnitude is not below `limit`.
    FixedCell(int decimals, std::size_t before_point, std::size_t after_point, double limit,
              WriteAny write_any)
        : write_any_(write_any),
          power_(power_of_ten(decimals)),
          limit_(std::min(99'999'999.5, limit)),
          shift_(static_cast<unsigned>(8 * (7 - decimals))),
          fill_(decimals < 7 ? eight_zeros << 8 * (decimals + 1) : 0),
          before_point_(before_point),
          after_point_(after_point) {}

    char* operator()(char* out, T value) const {
        const Scaled<T> scaled(value, power_);
        if (!scaled.is_below(limit_)) [[unlikely]] {
            return write_any_(out, value);
        }
        // The last digit before the point is shown even when it is 0.
        const std::uint64_t digits = eight_digits(scaled.rounded());
        const std::uint64_t last_before_point = std::uint64_t{1} << shift_;
        const auto zeros = static_cast<unsigned>(
            std::countr_zero((digits & ~eight_zeros) | last_before_point) & ~7);
        const std::size_t before_point = (shift_ + 8 - zeros) / 8;
        const std::size_t length = scaled.is_negative() + before_point;

        // Each word written here covers what the one before has written too far.
        out = write_blanks(out, std::max(before_point_, length) - length);
        *out = '-';
        out += scaled.is_negative();
        store(out, digits >> zeros);
        const std::uint64_t fraction = (digits >> shift_ & ~std::uint64_t{0xFF}) | '.';
        store(out + before_point, trims ? without_end_zeros(fraction | fill_) : fraction);
        return out + before_point + after_point_;
    }

private:
    WriteAny write_any_;
    double power_;
    double limit_;
    unsigned shift_;
    std::uint64_t fill_;  ///< zeros behind the decimals
    std::size_t before_point_;
    std::size_t after_point_;
};

/// Writes numbers in exponent form with up to six decimals, aligned to the right: the texts of
/// write_scientific, found by one multiplication and a look-up for every four digits.
class ScientificForm {
public:
    static bool suits(int precision) { return precision <= 6; }

    /// `has_point` asks for a point even where there are no decimals.
    ScientificForm(int precision, bool has_point, std::size_t width)
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

/// Exponent form of up to six decimals.
template <class T, class WriteAny>
class ScientificCell {
public:
    ScientificCell(const ScientificForm& cells, WriteAny write_any)
        : cells_(cells), write_any_(write_any) {}

    char* operator()(char* out, T value) const {
        char* end = cells_.write(out, static_cast<double>(value));
        return end != nullptr ? end : write_any_(out, value);
    }

private:
    ScientificForm cells_;
    WriteAny write_any_;
};

}  // namespace attn
