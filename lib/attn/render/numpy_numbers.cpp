#include "attn/render/numpy_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "attn/render/fast_cells.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

/// `out` up to `end` without the zeros that its fraction ends in.
char* trim_zeros(char* end) {
    while (end[-1] == '0') --end;
    return end;
}

/// The shortest decimals that identify the value, or `precision` of them where more are needed.
/// The point is always there: `1.`, `0.5`.
template <class T>
char* write_positional(char* out, T value, int precision) {
    char* end = out;
    if (value == std::trunc(value)) {
        end = write_fixed(out, static_cast<double>(value), 0);
        *end++ = '.';
        return end;
    }
    end = write_shortest_fixed(out, value);
    if (end - std::find(out, end, '.') - 1 <= precision) return end;
    end = write_fixed(out, static_cast<double>(value), precision);
    if (precision == 0) *end++ = '.';
    return trim_zeros(end);
}

/// The number of decimals in the text of the value in exponent form.
std::size_t decimals_before_exponent(std::string_view text) {
    const std::size_t exponent_at = text.find('e');
    const std::size_t point_at = text.find('.');
    return point_at == std::string_view::npos ? 0 : exponent_at - point_at - 1;
}

/// The decimals that the value has in exponent form: those that identify it, at most `precision`.
template <class T>
std::size_t decimals_wanted(T value, int precision) {
    NumberBuffer buffer;
    const std::size_t shortest = decimals_before_exponent(
        std::string_view(buffer.data(), write_shortest(buffer.data(), value)));
    if (shortest <= static_cast<std::size_t>(precision) || precision == 0) {
        return std::min(shortest, static_cast<std::size_t>(precision));
    }
    const std::string_view text(
        buffer.data(), write_scientific(buffer.data(), static_cast<double>(value), precision));
    char* mantissa_end = buffer.data() + text.find('e');
    const char* point = buffer.data() + text.find('.');
    return static_cast<std::size_t>(trim_zeros(mantissa_end) - point - 1);
}

/// Exactly `precision` decimals in exponent form: the identifying digits when there are just so
/// many, else those of the exact value.
template <class T>
char* write_exponent_form(char* out, T value, const NumpyStyle& style) {
    const auto precision = static_cast<std::size_t>(style.precision);
    char* end = write_shortest(out, value);
    if (decimals_before_exponent(std::string_view(out, end)) != precision) {
        end = write_scientific(out, static_cast<double>(value), style.precision);
    }
    // Give the mantissa a point and the exponent its zeros.
    char* mantissa_end = std::find(out, end, 'e');
    const auto exponent_digits = static_cast<std::size_t>(end - mantissa_end - 2);
    const std::size_t zeros = style.exponent_digits - exponent_digits;
    if (zeros > 0) {
        std::copy_backward(mantissa_end + 2, end, end + zeros);
        std::fill_n(mantissa_end + 2, zeros, '0');
        end += zeros;
    }
    if (precision == 0) {
        std::copy_backward(mantissa_end, end, end + 1);
        *mantissa_end = '.';
        ++end;
    }
    return end;
}

/// The most decimals that `wanted(value)` gives for any printed finite value, at most `limit`.
template <class T, class Wanted>
std::size_t most_wanted(const T* data, const Shown& shown, std::size_t limit, Wanted&& wanted) {
    std::size_t result = 0;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end && result < limit; ++i) {
            if (std::isfinite(data[i])) result = std::max(result, wanted(data[i]));
        }
    });
    return result;
}

template <class T>
bool in_exponent_form(const Survey& found, SciMode sci_mode) {
    if (!found.has_nonzero()) return false;
    if (sci_mode == SciMode::on || found.maximum() >= 1e8) return true;
    if (sci_mode == SciMode::off) return false;
    // The quotient is taken in the type of the array, and may overflow to infinity.
    const T quotient = static_cast<T>(found.maximum()) / static_cast<T>(found.minimum());
    return found.minimum() < 1e-4 || quotient > T{1000};
}

/// The way for any number.
template <class T>
[[gnu::noinline]] char* write_any(char* out, T value, NumpyStyle style) {
    if (!std::isfinite(value)) {
        return write_not_finite(out, static_cast<double>(value), numpy_cell_width(style));
    }
    NumberBuffer buffer;
    char* const begin = buffer.data();
    char* end = begin;
    std::size_t before = 0;
    std::size_t after = 0;
    if (style.exponent) {
        end = write_exponent_form(begin, value, style);
        before = style.left - (std::signbit(value) ? 2 : 1);
    } else {
        end = write_positional(begin, value, style.precision);
        const char* point = std::find(begin, end, '.');
        before = style.left - static_cast<std::size_t>(point - begin);
        after = style.right - static_cast<std::size_t>(end - point - 1);
    }
    out = std::fill_n(out, before, ' ');
    out = std::copy(begin, end, out);
    return std::fill_n(out, after, ' ');
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

}  // namespace

template <class T>
NumpyStyle numpy_style(const T* data, const Shown& shown, const Settings& settings) {
    NumpyStyle style;
    const Survey found = survey(data, shown);
    const int precision = settings.precision;
    const auto limit = static_cast<std::size_t>(precision);
    const bool negative = found.greatest[1] > 0.0 || found.negative_zero;
    style.exponent = in_exponent_form<T>(found, settings.sci_mode);

    if (style.exponent) {
        style.precision = static_cast<int>(most_wanted(
            data, shown, limit, [&](T value) { return decimals_wanted(value, precision); }));
        style.exponent_digits = found.longest([&](double value) {
            NumberBuffer buffer;
            const char* end = write_scientific(buffer.data(), value, style.precision);
            const char* mantissa_end = std::find<const char*>(buffer.data(), end, 'e');
            return static_cast<std::size_t>(end - mantissa_end) - 2;
        });
        style.left = negative ? 2 : 1;
        style.right = static_cast<std::size_t>(style.precision) + 2 + style.exponent_digits;
    } else if (found.has_finite()) {
        const auto split = [&](T value) {
            NumberBuffer buffer;
            const char* end = write_positional(buffer.data(), value, precision);
            const char* point = std::find<const char*>(buffer.data(), end, '.');
            return std::pair(static_cast<std::size_t>(point - buffer.data()),
                             static_cast<std::size_t>(end - point - 1));
        };
        style.precision = precision;
        style.left = std::max<std::size_t>(
            found.longest([&](double value) { return split(static_cast<T>(value)).first; }),
            found.negative_zero ? 2 : 1);
        style.right =
            found.whole ? 0 : most_wanted(data, shown, limit, [&](T v) { return split(v).second; });
    }

    // Make room for nan and inf.
    if (found.has_non_finite()) {
        const std::size_t needed = found.negative_infinity ? 4 : 3;
        if (style.left + style.right + 1 < needed) style.left = needed - style.right - 1;
    }
    return style;
}

std::size_t numpy_cell_width(const NumpyStyle& style) { return style.left + style.right + 1; }

template <class T>
std::unique_ptr<Cells> numpy_cells(const T* data, const NumpyStyle& style) {
    const std::size_t width = numpy_cell_width(style);
    const auto cells = [&](auto write_cell) { return make_cells(data, width, write_cell); };
    const AnyCell<T> any{style};
    const int decimals = style.precision;
    if (style.exponent) {
        // NumPy takes the shortest digits that identify a number where they have just the decimals
        // that are shown. Of all such digits they are the closest to it: rounding finds the same.
        const bool suits = style.exponent_digits == 2 && ScientificForm::suits(decimals);
        if (!suits) return cells(any);
        return cells(ScientificCell<T, AnyCell<T>>({decimals, true, width}, any));
    }
    using Small = SmallCell<T, AnyCell<T>, four_trimmed_digits>;
    if (style.left <= 4 && Small::suits(decimals)) {
        return cells(Small(decimals, style.left, width, limit_for<T>(decimals), any));
    }
    using Fixed = FixedCell<T, AnyCell<T>, true>;
    if (!Fixed::suits(decimals)) return cells(any);
    return cells(Fixed(decimals, style.left, 1 + style.right, limit_for<T>(decimals), any));
}

template NumpyStyle numpy_style(const float*, const Shown&, const Settings&);
template NumpyStyle numpy_style(const double*, const Shown&, const Settings&);
template std::unique_ptr<Cells> numpy_cells(const float*, const NumpyStyle&);
template std::unique_ptr<Cells> numpy_cells(const double*, const NumpyStyle&);

}  // namespace attn
