#include "attn/render/torch_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/render/fast_cells.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

using Form = TorchStyle::Form;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The way for any number.
[[gnu::noinline]] char* write_any(char* out, double value, Form form, int precision,
                                  std::size_t width) {
    if (!std::isfinite(value)) return write_not_finite(out, value, width);
    NumberBuffer buffer;
    const char* end = write_torch_value(buffer.data(), value, form, precision);
    return write_padded(out, buffer.data(), end, width);
}

template <class T>
struct AnyCell {
    TorchStyle style;

    char* operator()(char* out, T value) const {
        return write_any(out, static_cast<double>(value), style.form, style.precision, style.width);
    }
};

}  // namespace

TorchStyle torch_style(const Survey& survey, const Settings& settings) {
    TorchStyle style;
    style.precision = settings.precision;
    if (!survey.has_nonzero()) return style;

    // Choose the form: scientific where a fixed one would hide digits.
    const double greatest = survey.maximum();
    const double least = survey.minimum();
    const Form plain_form = survey.whole ? Form::whole : Form::fixed;
    const bool scientific =
        greatest / least > 1000.0 || greatest > 1e8 || (!survey.whole && least < 1e-4);
    style.form = scientific ? Form::scientific : plain_form;

    // Measure the longest text. Zeros, infinities and nan do not count.
    const std::size_t longest = survey.longest([&](double value) {
        return written_length(
            [&](char* out) { return write_torch_value(out, value, style.form, style.precision); });
    });
    style.width = std::max(style.width, longest);

    // Obey a forced form, which PyTorch does after measuring.
    if (settings.sci_mode == SciMode::on) style.form = Form::scientific;
    if (settings.sci_mode == SciMode::off) style.form = plain_form;
    return style;
}

char* write_torch_value(char* out, double value, Form form, int precision) {
    if (form == Form::scientific) return write_scientific(out, value, precision);
    if (form == Form::fixed) return write_fixed(out, value, precision);
    out = write_fixed(out, value, 0);
    if (std::isfinite(value)) *out++ = '.';
    return out;
}

template <class T>
std::unique_ptr<Cells> torch_cells(const T* data, const TorchStyle& style, double greatest) {
    const auto cells = [&](auto write_cell) { return make_cells(data, style.width, write_cell); };
    const AnyCell<T> any{style};
    if (style.form == Form::scientific) {
        if (!ScientificForm::suits(style.precision)) return cells(any);
        return cells(ScientificCell<T, AnyCell<T>>({style.precision, false, style.width}, any));
    }
    const int decimals = style.form == Form::whole ? 0 : style.precision;
    // The point is left out only where a precision of 0 was asked for.
    const bool has_point = style.form == Form::whole || decimals > 0;
    const auto after_point = static_cast<std::size_t>(decimals + has_point);
    using Small = SmallCell<T, AnyCell<T>, four_digits>;
    if (style.form == Form::fixed && greatest < 999.0 && Small::suits(decimals)) {
        // All texts are at least that long, even where zeros have had no say in the width.
        const std::size_t width = std::max(style.width, after_point + 1);
        return cells(Small(decimals, width - after_point, width, infinity, any));
    }
    using Fixed = FixedCell<T, AnyCell<T>, false>;
    if (!Fixed::suits(decimals)) return cells(any);
    const std::size_t before_point = std::max(style.width, after_point) - after_point;
    return cells(Fixed(decimals, before_point, after_point, infinity, any));
}

template std::unique_ptr<Cells> torch_cells(const float*, const TorchStyle&, double);
template std::unique_ptr<Cells> torch_cells(const double*, const TorchStyle&, double);

}  // namespace attn
