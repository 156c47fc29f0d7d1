#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attn/render/digits.hpp"
#include "attn/render/powers_of_ten.hpp"
#include "attn/render/scaled.hpp"

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
///
/// A number that does not suit, or for which the columns before the point do not suffice, is left
/// to `WriteAny`. `decimals_of` are four_digits or four_trimmed_digits.
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

}  // namespace attn
