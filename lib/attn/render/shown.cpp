#include "attn/render/shown.hpp"

#include <cmath>
#include <string>

#include "attn/render/number_text.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

Settings settings_for(const PrintOptions& options, const Settings& defaults) {
    const int precision = options.precision.value_or(defaults.precision);
    if (precision < 0 || precision > most_decimals) {
        throw ConfigError("a number cannot be printed with " + std::to_string(precision) +
                          " decimals: choose a precision from 0 to " +
                          std::to_string(most_decimals));
    }
    return {precision, options.threshold.value_or(defaults.threshold),
            options.edgeitems.value_or(defaults.edgeitems),
            options.linewidth.value_or(defaults.linewidth), options.sci_mode};
}

Shown::Shown(const Shape& shape) : size_(element_count(shape)) {
    std::size_t stride = size_;
    for (const std::size_t length : shape) {
        stride = length == 0 ? 0 : stride / length;
        axes_.push_back({length, length, 0, false, stride});
    }
}

Shown::Shown(const Shape& shape, const Settings& settings) : Shown(shape) {
    summarised_ = size_ > settings.threshold;
    if (!summarised_) return;
    for (ShownAxis& axis : axes_) {
        // length > 2 * edgeitems, without the overflow
        axis.cut = settings.edgeitems < (axis.length + 1) / 2;
        if (axis.cut) axis.head = axis.tail = settings.edgeitems;
    }
}

std::size_t Shown::count() const {
    std::size_t result = 1;
    for (const ShownAxis& axis : axes_) result *= axis.head + axis.tail;
    return result;
}

std::size_t integer_width(const std::int64_t* data, const Shown& shown) {
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
    return std::max(length(least), length(greatest));
}

void Survey::see(double value) {
    if (!std::isfinite(value)) {
        if (std::isnan(value)) {
            not_a_number = true;
        } else {
            infinity = true;
            negative_infinity = negative_infinity || value < 0;
        }
        return;
    }
    if (value == 0.0) {
        zero = true;
        negative_zero = negative_zero || std::signbit(value);
        return;
    }
    const int sign = value < 0.0 ? 1 : 0;
    const double magnitude = std::fabs(value);
    least[sign] = std::min(least[sign], magnitude);
    greatest[sign] = std::max(greatest[sign], magnitude);
    whole = whole && magnitude == std::trunc(magnitude);
}

}  // namespace attn
