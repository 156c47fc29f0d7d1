#include "attn/render/plain_text.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "attn/render/number_text.hpp"
#include "attn/render/torch_style.hpp"

namespace attn {
namespace {

/// The longest text of the tensor: unlike PyTorch's width it counts zeros, infinities and nan.
std::size_t longest_text(const Survey& survey, TorchStyle::Form form, int precision) {
    const auto length = [&](double value) {
        return written_length(
            [&](char* out) { return write_torch_value(out, value, form, precision); });
    };
    std::size_t result = survey.longest(length);
    if (survey.zero) result = std::max(result, length(0.0));
    if (survey.negative_zero) result = std::max(result, length(-0.0));
    if (survey.has_non_finite()) result = std::max<std::size_t>(result, 3);
    if (survey.negative_infinity) result = std::max<std::size_t>(result, 4);
    return result;
}

/// Writes the numbers of `array` with `write(out, value)`, each padded to `width`.
template <class T, class Write>
std::string rows(const Array<T>& array, std::size_t width, Write&& write) {
    const Shape shape = shape_of(array);
    const T* data = array.data();
    std::string text;
    text.reserve(array.size() * (width + 1) + 64);
    NumberBuffer buffer;
    const std::size_t row_length = shape.empty() ? 1 : shape.back();
    for (std::size_t begin = 0; begin < array.size(); begin += row_length) {
        // A line ends with every full row, and once more for each outer axis that is full too.
        for (std::size_t axis = shape.size(), block = 1; axis-- > 0 && begin > 0;) {
            block *= shape[axis];
            if (begin % block != 0) break;
            text += '\n';
        }
        for (std::size_t i = begin; i < begin + row_length; ++i) {
            if (i > begin) text += ' ';
            append_padded(text, buffer.data(), write(buffer.data(), data[i]), width);
        }
    }
    return text;
}

template <class T>
std::string plain_values(const Array<T>& array, const Settings& settings) {
    if constexpr (std::is_floating_point_v<T>) {
        const Survey found = survey(array.data(), Shown(shape_of(array)));
        const TorchStyle style = torch_style(found, settings);
        const TorchStyle::Form form = style.form == TorchStyle::Form::scientific
                                          ? TorchStyle::Form::scientific
                                          : TorchStyle::Form::fixed;
        return rows(array, longest_text(found, form, settings.precision), [&](char* out, T value) {
            return write_torch_value(out, static_cast<double>(value), form, settings.precision);
        });
    } else {
        std::size_t width = 1;
        if constexpr (std::is_same_v<T, std::int64_t>) {
            width = integer_width(array.data(), Shown(shape_of(array)));
        }
        return rows(array, width, [](char* out, T value) { return write_integer(out, value); });
    }
}

}  // namespace

std::string plain_text(const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, torch_defaults);
    return std::visit([&](const auto& array) { return plain_values(array, settings); },
                      tensor.values());
}

}  // namespace attn
