#include "attn/render/shown.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <type_traits>

#include "attn/render/number_text.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// The magnitudes of one sign that a survey knows already, as bits: they are ordered like integers.
template <class T>
class Known {
public:
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

    void update(const Survey& found) {
        for (const int sign : {0, 1}) {
            if (found.greatest[sign] == 0.0) continue;
            least_[sign] = std::bit_cast<Bits>(static_cast<T>(found.least[sign]));
            span_[sign] = std::bit_cast<Bits>(static_cast<T>(found.greatest[sign])) - least_[sign];
        }
    }

    /// Whether the value lies between two of its sign. Zeros, infinities and nan do not.
    bool covers(T value) const {
        const Bits bits = std::bit_cast<Bits>(value);
        const Bits sign = bits >> sign_at;
        return (bits & ~(Bits{1} << sign_at)) - least_[sign] <= span_[sign];
    }

private:
    static constexpr int sign_at = 8 * sizeof(T) - 1;
    // No magnitude has the bit of the sign, so that nothing is covered at first.
    Bits least_[2] = {~Bits{0}, ~Bits{0}};
    Bits span_[2] = {0, 0};
};

}  // namespace

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

bool Survey::see(double value) {
    if (!std::isfinite(value)) {
        if (std::isnan(value)) {
            not_a_number = true;
        } else {
            infinity = true;
            negative_infinity = negative_infinity || value < 0;
        }
        return false;
    }
    if (value == 0.0) {
        zero = true;
        negative_zero = negative_zero || std::signbit(value);
        return false;
    }
    const int sign = value < 0.0 ? 1 : 0;
    const double magnitude = std::fabs(value);
    least[sign] = std::min(least[sign], magnitude);
    greatest[sign] = std::max(greatest[sign], magnitude);
    whole = whole && magnitude == std::trunc(magnitude);
    return true;
}

template <class T>
Survey survey(const T* data, const Shown& shown) {
    Survey result;
    Known<T> known;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        std::size_t i = begin;
        for (; i < end && result.whole; ++i) result.see(static_cast<double>(data[i]));
        known.update(result);

        // A number between two that were seen adds nothing once one was not whole.
        for (; i < end; ++i) {
            if (known.covers(data[i])) continue;
            if (result.see(static_cast<double>(data[i]))) known.update(result);
        }
    });
    return result;
}

template Survey survey(const float*, const Shown&);
template Survey survey(const double*, const Shown&);

}  // namespace attn
