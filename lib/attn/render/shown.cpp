#include "attn/render/shown.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <type_traits>

#include "attn/tensor/error.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

/// The numbers that tell a survey nothing new, by their bits: magnitudes are ordered like integers.
template <class T>
class Known {
public:
    static constexpr std::size_t block = 64;

    void update(const Survey& found) {
        for (const int sign : {0, 1}) {
            if (found.greatest[sign] == 0.0) continue;
            least_[sign] = bits_of(static_cast<T>(found.least[sign]));
            span_[sign] = bits_of(static_cast<T>(found.greatest[sign])) - least_[sign];
        }
        if (found.zero) unless_zero_ = 0;
        if (found.negative_infinity) unless_hidden_ = 0;
    }

    /// Whether the value lies between two of its sign, or is one of the two that a mask makes: the
    /// weight 0 and the score -inf.
    bool covers(T value) const { return !is_new(bits_of(value)); }

    /// Whether all values of a block do. Without a branch: the compiler makes SIMD of it.
    bool covers_block(const T* values) const {
        Bits any_new = 0;
        for (std::size_t i = 0; i < block; ++i) any_new |= Bits{is_new(bits_of(values[i]))};
        return any_new == 0;
    }

private:
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int sign_at = 8 * sizeof(T) - 1;
    static constexpr Bits sign_bit = Bits{1} << sign_at;
    static constexpr Bits hidden = std::bit_cast<Bits>(-std::numeric_limits<T>::infinity());

    static Bits bits_of(T value) { return std::bit_cast<Bits>(value); }

    bool is_new(Bits bits) const {
        const Bits all_if_negative = Bits{0} - (bits >> sign_at);
        const auto of_sign = [&](const Bits(&two)[2]) {
            return two[0] ^ ((two[0] ^ two[1]) & all_if_negative);
        };
        const bool outside = (bits & ~sign_bit) - of_sign(least_) > of_sign(span_);
        const bool is_zero = (bits | unless_zero_) == 0;
        const bool is_hidden = ((bits ^ hidden) | unless_hidden_) == 0;
        return outside & !is_zero & !is_hidden;
    }

    // No magnitude has the bit of the sign, so that nothing is covered at first.
    Bits least_[2] = {~Bits{0}, ~Bits{0}};
    Bits span_[2] = {0, 0};
    // All ones until a 0, or -inf, was seen.
    Bits unless_zero_ = ~Bits{0};
    Bits unless_hidden_ = ~Bits{0};
};

template <class T>
void add_what_is_new(const T* begin, const T* end, Known<T>& known, Survey& found) {
    constexpr std::ptrdiff_t block = Known<T>::block;
    while (begin != end) {
        const T* const block_end = begin + std::min(block, end - begin);
        if (block_end - begin == block && known.covers_block(begin)) begin = block_end;
        for (; begin != block_end; ++begin) {
            if (known.covers(*begin)) continue;
            found.add(static_cast<double>(*begin));
            known.update(found);
        }
    }
}

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

void Survey::add(double value) {
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

template <class T>
Survey survey(const T* data, const Shown& shown) {
    Survey result;
    Known<T> known;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        std::size_t i = begin;
        for (; i < end && result.whole; ++i) result.add(static_cast<double>(data[i]));
        known.update(result);

        // A number between two that were seen adds nothing once one was not whole.
        add_what_is_new(data + i, data + end, known, result);
    });
    return result;
}

template Survey survey(const float*, const Shown&);
template Survey survey(const double*, const Shown&);

}  // namespace attn
