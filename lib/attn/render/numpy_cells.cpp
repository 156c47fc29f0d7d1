#include "attn/render/numpy_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/render/powers_of_ten.hpp"
#include "attn/render/scaled.hpp"
#include "attn/render/scientific.hpp"
#include "attn/render/small_cell.hpp"

namespace attn {
namespace {

template <class T>
[[gnu::noinline]] char* write_any(char* out, T value, NumpyStyle style) {
    if (!std::isfinite(value)) {
        return write_not_finite(out, static_cast<double>(value), numpy_cell_width(style));
    }
    return write_numpy_cell(out, value, style);
}

template <class T>
struct AnyCell {
    NumpyStyle style;

    char* operator()(char* out, T value) const { return write_any(out, value, style); }
};

/// The scaled numbers whose digits may be rounded from the exact value.
///
/// NumPy prints the shortest decimals that identify a number if these are few enough. They lie
/// within half the spacing of T at the number. Where that spacing is less than a unit of the last
/// decimal, no other number of so many decimals is as close, so that rounding finds the same.
template <class T>
double limit_for(int decimals) {
    const double power = power_of_ten(decimals);
    const int digits = std::numeric_limits<T>::digits;
    return std::ldexp(1.0, std::ilogb(1.0 / power) + digits) * power;
}

/// The point and seven decimals with blanks in place of the zeros at the end.
std::uint64_t without_end_zeros(std::uint64_t letters) {
    // Counted from the other side: processors without lzcnt count from above slowly.
    const std::uint64_t from_the_end = __builtin_bswap64(letters ^ (eight_zeros << 8));
    const auto end_zeros = static_cast<unsigned>(std::countr_zero(from_the_end) & ~7);
    const std::uint64_t kept = ~std::uint64_t{0} >> end_zeros;
    return (letters & kept) | (eight_blanks & ~kept);
}

/// Fixed form for numbers of up to eight digits in all.
template <class T>
class FixedCell {
public:
    static bool suits(const NumpyStyle& style) { return !style.exponent && style.precision <= 7; }

    explicit FixedCell(const NumpyStyle& style)
        : any_{style},
          power_(power_of_ten(style.precision)),
          limit_(std::min(99'999'999.5, limit_for<T>(style.precision))),
          shift_(static_cast<unsigned>(8 * (7 - style.precision))),
          fill_(style.precision < 7 ? eight_zeros << 8 * (style.precision + 1) : 0),
          tail_(1 + style.right) {}

    char* operator()(char* out, T value) const {
        const Scaled<T> scaled(value, power_);
        if (!scaled.is_below(limit_)) [[unlikely]] {
            return any_(out, value);
        }
        const std::uint64_t digits = eight_digits(scaled.rounded());
        const std::uint64_t last_before_point = std::uint64_t{1} << shift_;
        const auto zeros = static_cast<unsigned>(
            std::countr_zero((digits & ~eight_zeros) | last_before_point) & ~7);
        const std::size_t before_point = (shift_ + 8 - zeros) / 8;
        const std::size_t length = scaled.is_negative() + before_point;

        // Each word written here covers what the one before has written too far.
        out = write_blanks(out, std::max(any_.style.left, length) - length);
        *out = '-';
        out += scaled.is_negative();
        store(out, digits >> zeros);
        const std::uint64_t fraction = (digits >> shift_ & ~std::uint64_t{0xFF}) | '.' | fill_;
        store(out + before_point, without_end_zeros(fraction));
        return out + before_point + tail_;
    }

private:
    AnyCell<T> any_;
    double power_;
    double limit_;
    unsigned shift_;
    std::uint64_t fill_;  ///< zeros behind the decimals
    std::size_t tail_;
};

/// Exponent form with exponents of two digits. NumPy takes the shortest digits that identify a
/// number where they have just the decimals that are shown. Of all such digits they are the closest
/// to it, so that rounding finds the same.
template <class T>
class ExponentCell {
public:
    static bool suits(const NumpyStyle& style) {
        return style.exponent && style.exponent_digits == 2 &&
               ScientificCells::suits(style.precision);
    }

    explicit ExponentCell(const NumpyStyle& style)
        : any_{style}, cells_(style.precision, true, numpy_cell_width(style)) {}

    char* operator()(char* out, T value) const {
        char* end = cells_.write(out, static_cast<double>(value));
        return end != nullptr ? end : any_(out, value);
    }

private:
    AnyCell<T> any_;
    ScientificCells cells_;
};

}  // namespace

template <class T>
std::unique_ptr<Cells> numpy_cells(const T* data, const NumpyStyle& style) {
    const auto cells = [&](auto write_cell) {
        return make_cells(data, numpy_cell_width(style), write_cell);
    };
    if (ExponentCell<T>::suits(style)) return cells(ExponentCell<T>(style));
    using Small = SmallCell<T, AnyCell<T>, four_trimmed_digits>;
    if (!style.exponent && style.left <= 4 && Small::suits(style.precision)) {
        return cells(Small(style.precision, style.left, numpy_cell_width(style),
                           limit_for<T>(style.precision), {style}));
    }
    if (FixedCell<T>::suits(style)) return cells(FixedCell<T>(style));
    return cells(AnyCell<T>{style});
}

template std::unique_ptr<Cells> numpy_cells(const float*, const NumpyStyle&);
template std::unique_ptr<Cells> numpy_cells(const double*, const NumpyStyle&);

}  // namespace attn
