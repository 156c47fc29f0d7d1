#include "attn/show/render/shown.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"

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
        // length > 2 * edgeitems, without overflow
        axis.cut = settings.edgeitems < (axis.length + 1) / 2;
        if (axis.cut) axis.head = axis.tail = settings.edgeitems;
    }
}

template <class T>
Survey survey(const T* data, const Shown& shown) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr auto sign_bit = std::bit_cast<std::uint64_t>(-0.0);
    constexpr auto first_not_finite = std::bit_cast<std::uint64_t>(infinity);
    Survey found;

    // The bits of magnitudes are ordered like integers. With the sign bit, the unsigned minimum is
    // the smallest of the positive ones, and the signed maximum the largest: no branch depends on a
    // sign.
    std::uint64_t least[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
    std::int64_t greatest[2] = {0, 0};
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const auto value = static_cast<double>(data[i]);
            const auto bits = std::bit_cast<std::uint64_t>(value);
            if ((bits & ~sign_bit) - 1 < first_not_finite - 1) {
                least[0] = std::min(least[0], bits);
                least[1] = std::min(least[1], bits ^ sign_bit);
                greatest[0] = std::max(greatest[0], static_cast<std::int64_t>(bits));
                greatest[1] = std::max(greatest[1], static_cast<std::int64_t>(bits ^ sign_bit));
                if (found.whole) found.whole = value == std::trunc(value);
            } else {
                found.zero |= value == 0.0;
                found.negative_zero |= value == 0.0 && std::signbit(value);
                found.not_a_number |= std::isnan(value);
                found.infinity |= std::isinf(value);
                found.negative_infinity |= value == -infinity;
            }
        }
    });
    for (const int sign : {0, 1}) {
        found.greatest[sign] = std::bit_cast<double>(greatest[sign]);
        if (greatest[sign] > 0) found.least[sign] = std::bit_cast<double>(least[sign]);
    }
    return found;
}

template Survey survey(const bool*, const Shown&);
template Survey survey(const std::int64_t*, const Shown&);
template Survey survey(const float*, const Shown&);
template Survey survey(const double*, const Shown&);

}  // namespace attn
