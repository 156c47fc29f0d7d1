#include "attn/render/torch_style.hpp"

#include <algorithm>
#include <cmath>

#include "attn/render/number_text.hpp"

namespace attn {

TorchStyle torch_style(const Survey& survey, const Settings& settings) {
    TorchStyle style;
    style.precision = settings.precision;
    if (!survey.has_nonzero()) return style;

    // Choose the form: scientific where a fixed one would hide digits.
    const double greatest = survey.maximum();
    const double least = survey.minimum();
    const TorchStyle::Form plain_form =
        survey.whole ? TorchStyle::Form::whole : TorchStyle::Form::fixed;
    const bool scientific =
        greatest / least > 1000.0 || greatest > 1e8 || (!survey.whole && least < 1e-4);
    style.form = scientific ? TorchStyle::Form::scientific : plain_form;

    // Measure the longest text. Zeros, infinities and nan do not count.
    const std::size_t longest = survey.longest([&](double value) {
        return written_length(
            [&](char* out) { return write_torch_value(out, value, style.form, style.precision); });
    });
    style.width = std::max(style.width, longest);

    // Obey a forced form, which PyTorch does after measuring.
    if (settings.sci_mode == SciMode::on) style.form = TorchStyle::Form::scientific;
    if (settings.sci_mode == SciMode::off) style.form = plain_form;
    return style;
}

char* write_torch_value(char* out, double value, TorchStyle::Form form, int precision) {
    if (form == TorchStyle::Form::scientific) return write_scientific(out, value, precision);
    if (form == TorchStyle::Form::fixed) return write_fixed(out, value, precision);
    out = write_fixed(out, value, 0);
    if (std::isfinite(value)) *out++ = '.';
    return out;
}

}  // namespace attn
