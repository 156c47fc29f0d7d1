#include "attn/render/number_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "attn/text/number_text.hpp"

namespace attn {
namespace {

using Kind = NumberForm::Kind;

std::size_t length_of(double value, const NumberForm& form) {
    return written_length([&](char* out) { return write_number(out, value, form); });
}

/// The decimals that a text has before its exponent or its end.
std::size_t decimals_of(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::size_t end = std::min(text.find('e'), text.size());
    return point == text.npos ? 0 : end - point - 1;
}

/// The decimals that NumPy prints: those that identify the value, or as many as `precision` allows
/// without the zeros at their end.
template <class T>
std::size_t decimals_wanted(T value, int precision, bool scientific) {
    NumberBuffer buffer;
    char* const begin = buffer.data();
    const char* end =
        scientific ? write_shortest(begin, value) : write_shortest_fixed(begin, value);
    const std::size_t shortest = decimals_of(written(begin, end));
    if (shortest <= static_cast<std::size_t>(precision) || precision == 0) {
        return std::min(shortest, static_cast<std::size_t>(precision));
    }
    const auto exact = static_cast<double>(value);
    end = scientific ? std::find(begin, write_scientific(begin, exact, precision), 'e')
                     : write_fixed(begin, exact, precision);
    while (end[-1] == '0') --end;
    return decimals_of(written(begin, end));
}

/// The most decimals that any printed finite value wants.
template <class T>
int most_decimals_wanted(const T* data, const Shown& shown, int precision, bool scientific) {
    std::size_t result = 0;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (; begin < end && result < static_cast<std::size_t>(precision); ++begin) {
            if (!std::isfinite(data[begin])) continue;
            result = std::max(result, decimals_wanted(data[begin], precision, scientific));
        }
    });
    return static_cast<int>(result);
}

template <class T>
bool is_scientific_in_numpy(const Survey& found, SciMode sci_mode) {
    if (!found.has_nonzero()) return false;
    if (sci_mode == SciMode::on || found.maximum() >= 1e8) return true;
    if (sci_mode == SciMode::off) return false;
    // The quotient is taken in the type of the array, and may overflow to infinity.
    const T quotient = static_cast<T>(found.maximum()) / static_cast<T>(found.minimum());
    return found.minimum() < 1e-4 || quotient > T{1000};
}

/// NumPy's fixed form where rounding may find other decimals than the shortest ones.
template <class T>
char* write_shortest_decimals(char* out, T value, const NumberForm& form) {
    NumberBuffer buffer;
    char* const begin = buffer.data();
    const int precision = form.kind == Kind::whole ? 0 : form.precision;
    char* end = write_shortest_fixed(begin, value);
    const auto wanted = static_cast<std::size_t>(precision);
    if (decimals_of(written(begin, end)) > wanted) {
        end = write_fixed(begin, static_cast<double>(value), precision);
    }
    const char* point = std::find(begin, end, '.');
    if (point == end) *end++ = '.';
    while (end[-1] == '0' && end - 1 > point) --end;
    end = std::fill_n(end, wanted - static_cast<std::size_t>(end - point - 1), ' ');
    return write_padded(out, written(begin, end), form.width);
}

/// NumPy's exponent form where it differs from C's: it may have more digits in the exponent, and a
/// point without decimals.
char* write_numpy_exponent(char* out, double value, const NumberForm& form) {
    NumberBuffer buffer;
    char* const begin = buffer.data();
    char* end = write_scientific(begin, value, form.precision);
    char* mantissa_end = std::find(begin, end, 'e');
    if (form.precision == 0) {
        std::copy_backward(mantissa_end, end, end + 1);
        *mantissa_end++ = '.';
        ++end;
    }
    if (static_cast<std::size_t>(end - mantissa_end) - 2 < form.exponent_digits) {
        std::copy_backward(mantissa_end + 2, end, end + 1);
        mantissa_end[2] = '0';
        ++end;
    }
    return write_padded(out, written(begin, end), form.width);
}

}  // namespace

NumberForm torch_form(const Survey& survey, const Settings& settings) {
    NumberForm form;
    form.precision = settings.precision;
    if (!survey.has_nonzero()) return form;

    // Choose the form: scientific where a fixed one would hide digits.
    const double greatest = survey.maximum();
    const double least = survey.minimum();
    const Kind plain_kind = survey.whole ? Kind::whole : Kind::fixed;
    const bool scientific =
        greatest / least > 1000.0 || greatest > 1e8 || (!survey.whole && least < 1e-4);
    form.kind = scientific ? Kind::scientific : plain_kind;
    form.width = survey.longest([&](double value) { return length_of(value, form); });

    // Obey a forced form, which PyTorch does after measuring.
    if (settings.sci_mode == SciMode::on) form.kind = Kind::scientific;
    if (settings.sci_mode == SciMode::off) form.kind = plain_kind;
    return form;
}

NumberForm plain_form(const Survey& survey, const Settings& settings) {
    NumberForm form = torch_form(survey, settings);
    if (form.kind == Kind::whole) form.kind = Kind::fixed;
    form.width = 1;
    const auto length = [&](double value) { return length_of(value, form); };
    std::size_t width = survey.longest(length);
    if (survey.zero) width = std::max(width, length(0.0));
    if (survey.negative_zero) width = std::max(width, length(-0.0));
    form.width = std::max(width, survey.longest_word());
    return form;
}

template <class T>
NumberForm numpy_form(const T* data, const Shown& shown, const Settings& settings) {
    const Survey found = survey(data, shown);
    const bool scientific = is_scientific_in_numpy<T>(found, settings.sci_mode);
    NumberForm form{.precision = settings.precision, .of_numpy = true};

    // Measure the columns before the point, then those behind it.
    if (scientific) {
        form.kind = Kind::scientific;
        form.precision = most_decimals_wanted(data, shown, settings.precision, true);
        form.exponent_digits = found.longest([&](double value) {
            NumberBuffer buffer;
            const char* end = write_scientific(buffer.data(), value, form.precision);
            return static_cast<std::size_t>(end - std::find(buffer.cbegin(), end, 'e') - 2);
        });
        const bool negative = found.greatest[1] > 0.0 || found.negative_zero;
        form.width = (negative ? 2 : 1) + 1 + static_cast<std::size_t>(form.precision) + 2 +
                     form.exponent_digits;
    } else if (found.has_finite()) {
        form.kind = Kind::fixed;
        const auto before_point = [&](double value) {
            NumberBuffer buffer;
            const char* end = write_fixed(buffer.data(), value, settings.precision);
            return static_cast<std::size_t>(std::find(buffer.cbegin(), end, '.') - buffer.cbegin());
        };
        const std::size_t left =
            std::max<std::size_t>(found.longest(before_point), found.negative_zero ? 2 : 1);
        form.precision =
            found.whole ? 0 : most_decimals_wanted(data, shown, settings.precision, false);
        if (form.precision == 0) form.kind = Kind::whole;
        form.width = left + 1 + static_cast<std::size_t>(form.precision);
    }
    form.width = std::max(form.width, found.longest_word());

    // NumPy prints the shortest decimals that identify a number if these are few enough. They lie
    // within half the spacing of T at the number. Where that spacing is less than a unit of the
    // last decimal, no other number of so many decimals is as close: rounding finds the same.
    form.exact_below = std::ldexp(
        1.0, std::ilogb(std::pow(10.0, -form.precision)) + std::numeric_limits<T>::digits);
    return form;
}

template <class T>
char* write_number(char* out, T number, const NumberForm& form) {
    const auto value = static_cast<double>(number);
    if (form.kind == Kind::fixed && (!form.of_numpy || std::fabs(value) < form.exact_below)) {
        char* const end = write_fixed(out, value, form.precision, form.width);
        for (char* last = end - 1; form.of_numpy && *last == '0'; --last) *last = ' ';
        return end;
    }
    if (!std::isfinite(value)) return write_fixed(out, value, 0, form.width);
    if (form.kind == Kind::scientific) {
        const bool as_in_c = !form.of_numpy || (form.precision > 0 && form.exponent_digits == 2);
        return as_in_c ? write_scientific(out, value, form.precision, form.width)
                       : write_numpy_exponent(out, value, form);
    }
    if (form.of_numpy && !(std::fabs(value) < form.exact_below)) {
        return write_shortest_decimals(out, number, form);
    }
    out = write_fixed(out, value, 0, form.width - 1);
    *out++ = '.';
    return out;
}

template <class T>
Cells number_cells(const T* data, const NumberForm& form) {
    return {form.width,
            [data, form](char* out, std::size_t i) { return write_number(out, data[i], form); }};
}

Cells integer_cells(const std::int64_t* data, const Shown& shown) {
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            least = std::min(least, data[i]);
            greatest = std::max(greatest, data[i]);
        }
    });
    const auto length = [](std::int64_t value) {
        return written_length([&](char* out) { return write_integer(out, value); });
    };
    const std::size_t width = std::max(length(least), length(greatest));
    return {width, [data, width](char* out, std::size_t i) {
                NumberBuffer buffer;
                char* const begin = buffer.data();
                return write_padded(out, written(begin, write_integer(begin, data[i])), width);
            }};
}

Cells word_cells(const bool* data, std::size_t width) {
    return {width, [data, width](char* out, std::size_t i) {
                return write_padded(out, data[i] ? "True" : "False", width);
            }};
}

std::string scalar_text(const Tensor& tensor, std::size_t i) {
    NumberBuffer buffer;
    const auto text = [&](auto value) -> std::string {
        if constexpr (std::is_same_v<decltype(value), bool>) {
            return value ? "True" : "False";
        } else if constexpr (std::is_integral_v<decltype(value)>) {
            return {buffer.data(), write_integer(buffer.data(), value)};
        } else {
            return {buffer.data(), write_scalar(buffer.data(), value)};
        }
    };
    return std::visit([&](const auto& array) { return text(array.data()[i]); }, tensor.values());
}

template NumberForm numpy_form(const float*, const Shown&, const Settings&);
template NumberForm numpy_form(const double*, const Shown&, const Settings&);
template char* write_number(char*, float, const NumberForm&);
template char* write_number(char*, double, const NumberForm&);
template Cells number_cells(const float*, const NumberForm&);
template Cells number_cells(const double*, const NumberForm&);

}  // namespace attn
