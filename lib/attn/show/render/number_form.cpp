#include "attn/show/render/number_form.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

using Kind = NumberForm::Kind;

std::size_t length_of(double value, const NumberForm& form) {
    return number_text(value, form).size();
}

/// Counts the decimals of a text before its exponent or end.
std::size_t decimals_of(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::size_t end = std::min(text.find('e'), text.size());
    return point == text.npos ? 0 : end - point - 1;
}

/// Returns the float or double with the shortest digits of `value` in that type.
template <class T>
T by_digits(T value, DType type) {
    if constexpr (std::is_same_v<T, float>) return as_printed(value, type);
    return value;
}

/// Formats the digits without an exponent; integers keep all digits.
template <class T>
std::string fixed_digits(T value, DType type) {
    return shortest_fixed_text(value == std::trunc(value) ? value : by_digits(value, type));
}

/// Returns NumPy's number of decimals: those that identify the value, or up to `precision` without
/// trailing zeros.
template <class T>
std::size_t decimals_wanted(T value, int precision, bool scientific, DType type) {
    std::string text =
        scientific ? shortest_text(by_digits(value, type)) : fixed_digits(value, type);
    if (decimals_of(text) <= static_cast<std::size_t>(precision)) return decimals_of(text);
    const auto exact = static_cast<double>(value);
    text = scientific ? scientific_text(exact, precision) : fixed_text(exact, precision);
    text.resize(std::min(text.find('e'), text.size()));
    return decimals_of(text.substr(0, text.find_last_not_of('0') + 1));
}

/// Returns the largest number of decimals of the printed finite values.
template <class T>
int most_decimals_wanted(const T* data, const Shown& shown, int precision, bool scientific,
                         DType type) {
    std::size_t result = 0;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (; begin < end && result < static_cast<std::size_t>(precision); ++begin) {
            if (!std::isfinite(data[begin])) continue;
            result = std::max(result, decimals_wanted(data[begin], precision, scientific, type));
        }
    });
    return static_cast<int>(result);
}

template <class T>
bool is_scientific_in_numpy(const Survey& found, SciMode sci_mode, DType type) {
    if (!found.has_nonzero()) return false;
    if (sci_mode == SciMode::on || found.maximum() >= 1e8) return true;
    if (sci_mode == SciMode::off) return false;
    // The quotient is computed in the type of the array, and may overflow to infinity.
    const T quotient = static_cast<T>(found.maximum()) / static_cast<T>(found.minimum());
    const bool is_wide = sizeof(T) == 8;
    return found.minimum() < 1e-4 ||
           (is_wide ? quotient > T{1000} : nearest(static_cast<float>(quotient), type) > 1000);
}

/// Formats the decimals that identify the number, or as many as fit, without trailing zeros; spaces
/// replace those that other numbers have.
template <class T>
std::string numpy_decimals(T value, const NumberForm& form) {
    const int precision = form.kind == Kind::whole ? 0 : form.precision;
    const auto wanted = static_cast<std::size_t>(precision);
    std::string text = fixed_digits(value, form.type);
    if (decimals_of(text) > wanted) text = fixed_text(static_cast<double>(value), precision);
    if (text.find('.') == text.npos) text += '.';
    text.resize(text.find_last_not_of('0') + 1);
    return text.append(wanted - decimals_of(text), ' ');
}

/// Returns the part of a number's text that may change if the number is off by `off`: from the
/// first decimal that differs, or all of it if the integer part differs.
std::string_view uncertain_digits(std::string_view text, double value, double off) {
    text.remove_prefix(text.find_first_not_of(' '));
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    const auto exponent_at = [](std::string_view t) { return std::min(t.find('e'), t.size()); };
    const std::size_t end = exponent_at(text);
    const auto decimals = static_cast<int>(decimals_of(text));
    const auto form = [&](double number) {
        return end < text.size() ? scientific_text(number, decimals) : fixed_text(number, decimals);
    };
    const std::string low = form(value - off), high = form(value + off);
    if (low == high) return {};
    const bool is_alike = low.size() == high.size() && low.find('.') == high.find('.') &&
                          low.substr(exponent_at(low)) == high.substr(exponent_at(high));
    const auto differs = std::mismatch(low.begin(), low.end(), high.begin()).first;
    auto same = is_alike ? static_cast<std::size_t>(differs - low.begin()) : 0;
    if (same == 0) return text;
    if (text[same] == '.') ++same;
    return text.substr(same, end - same);
}

/// Marks a part of the text.
std::string with_marks(const std::string& text, std::string_view part, const Ink& ink) {
    const bool is_inked = !ink.uncertain.empty();
    if (part.empty()) return is_inked ? text : text + "  ";
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    const std::string marked =
        is_inked ? ink.of(ink.uncertain, part) : "[" + std::string(part) + "]";
    return text.substr(0, begin) + marked + text.substr(begin + part.size());
}

/// NumPy's exponent may have more digits than C's, and its mantissa a point without decimals.
std::string numpy_exponent(double value, const NumberForm& form) {
    std::string text = scientific_text(value, form.precision);
    if (form.precision == 0) text.insert(text.find('e'), 1, '.');
    const std::size_t digits = text.size() - text.find('e') - 2;
    if (digits < form.exponent_digits) text.insert(text.find('e') + 2, 1, '0');
    return text;
}

}  // namespace

NumberForm torch_form(const Survey& survey, const Settings& settings) {
    NumberForm form;
    form.precision = settings.precision;
    if (!survey.has_nonzero()) return form;

    // Choose the form: scientific if a fixed one would hide digits.
    const double greatest = survey.maximum();
    const double least = survey.minimum();
    const Kind plain_kind = survey.whole ? Kind::whole : Kind::fixed;
    const bool scientific =
        greatest / least > 1000.0 || greatest > 1e8 || (!survey.whole && least < 1e-4);
    form.kind = scientific ? Kind::scientific : plain_kind;
    form.width = survey.longest([&](double value) { return length_of(value, form); });

    // Apply a forced form, which PyTorch does after measuring.
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
NumberForm numpy_form(const T* data, const Shown& shown, const Settings& settings, DType type) {
    const Survey found = survey(data, shown);
    const bool scientific = is_scientific_in_numpy<T>(found, settings.sci_mode, type);
    NumberForm form{.precision = settings.precision, .of_numpy = true, .type = type};

    // Measure the columns before the decimal point, then those after it.
    if (scientific) {
        form.kind = Kind::scientific;
        form.precision = most_decimals_wanted(data, shown, settings.precision, true, type);
        form.exponent_digits = found.longest([&](double value) {
            const std::string text = scientific_text(value, form.precision);
            return text.size() - text.find('e') - 2;
        });
        const bool negative = found.greatest[1] > 0.0 || found.negative_zero;
        form.width = (negative ? 2 : 1) + 1 + static_cast<std::size_t>(form.precision) + 2 +
                     form.exponent_digits;
    } else if (found.has_finite()) {
        form.kind = Kind::fixed;
        const auto before_point = [&](double value) {
            const std::string text = fixed_text(value, settings.precision);
            return std::min(text.find('.'), text.size());
        };
        const std::size_t left =
            std::max<std::size_t>(found.longest(before_point), found.negative_zero ? 2 : 1);
        form.precision =
            found.whole ? 0 : most_decimals_wanted(data, shown, settings.precision, false, type);
        if (form.precision == 0) form.kind = Kind::whole;
        form.width = left + 1 + static_cast<std::size_t>(form.precision);
    }
    form.width = std::max(form.width, found.longest_word());
    return form;
}

template <class T>
std::string number_text(T number, const NumberForm& form) {
    const auto value = static_cast<double>(number);
    const auto text = [&] {
        if (!std::isfinite(value)) return fixed_text(value, 0);
        if (form.kind == Kind::scientific) {
            return form.of_numpy ? numpy_exponent(value, form)
                                 : scientific_text(value, form.precision);
        }
        if (form.of_numpy) return numpy_decimals(number, form);
        return form.kind == Kind::fixed ? fixed_text(value, form.precision)
                                        : fixed_text(value, 0) + '.';
    };
    return padded(text(), form.width);
}

template <class T>
Cells number_cells(const T* data, const NumberForm& form, const Shown& shown,
                   const PrintOptions& options) {
    const Cells plain{form.width,
                      [data, form](std::size_t i) { return number_text(data[i], form); }};
    if (options.bound == nullptr) return plain;
    const double* const bound = options.bound->as<double>().data();
    const auto uncertain = [data, bound](const std::string& text, std::size_t i) {
        return uncertain_digits(text, static_cast<double>(data[i]), bound[i]);
    };
    bool is_certain = true;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (; is_certain && begin < end; ++begin) {
            is_certain = uncertain(plain.text(begin), begin).empty();
        }
    });
    if (is_certain) return plain;
    const Ink ink = options.ink;
    const auto marked = [plain, uncertain, ink](std::size_t i) {
        const std::string text = plain.text(i);
        return with_marks(text, uncertain(text, i), ink);
    };
    if (ink.uncertain.empty()) return {form.width + 2, marked};
    return {form.width, marked, ink.uncertain.size() + ink.plain.size()};
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
    const std::size_t width =
        std::max(std::to_string(least).size(), std::to_string(greatest).size());
    return {width, [data, width](std::size_t i) { return padded(std::to_string(data[i]), width); }};
}

Cells word_cells(const bool* data, std::size_t width) {
    return {width,
            [data, width](std::size_t i) { return padded(data[i] ? "True" : "False", width); }};
}

std::string scalar_text(const Tensor& tensor, std::size_t i) {
    const auto text = [&](auto value) -> std::string {
        if constexpr (std::is_same_v<decltype(value), bool>) {
            return value ? "True" : "False";
        } else if constexpr (std::is_integral_v<decltype(value)>) {
            return std::to_string(value);
        } else {
            return scalar_text(by_digits(value, tensor.dtype()));
        }
    };
    return std::visit([&](const auto& array) { return text(array.data()[i]); }, tensor.values());
}

template NumberForm numpy_form(const float*, const Shown&, const Settings&, DType);
template NumberForm numpy_form(const double*, const Shown&, const Settings&, DType);
template std::string number_text(float, const NumberForm&);
template std::string number_text(double, const NumberForm&);
template Cells number_cells(const float*, const NumberForm&, const Shown&, const PrintOptions&);
template Cells number_cells(const double*, const NumberForm&, const Shown&, const PrintOptions&);

}  // namespace attn
