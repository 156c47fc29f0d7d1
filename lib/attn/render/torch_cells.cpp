#include "attn/render/torch_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/render/powers_of_ten.hpp"
#include "attn/render/scaled.hpp"
#include "attn/render/scientific.hpp"
#include "attn/render/small_cell.hpp"

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

/// Fixed form for numbers of up to eight digits in all.
template <class T>
class FixedCell {
public:
    static bool suits(const TorchStyle& style) { return decimals(style) <= 7; }

    explicit FixedCell(const TorchStyle& style)
        : any_{style},
          power_(power_of_ten(decimals(style))),
          shift_(static_cast<unsigned>(8 * (7 - decimals(style)))),
          // the point is left out only where a precision of 0 was asked for
          tail_(style.form == Form::whole ? 1
                : style.precision == 0    ? 0
                                          : style.precision + 1) {}

    char* operator()(char* out, T value) const {
        const Scaled<T> scaled(value, power_);
        if (!scaled.is_below(99'999'999.5)) [[unlikely]] {
            return any_(out, value);
        }
        // The last digit before the point is shown even when it is 0.
        const std::uint64_t digits = eight_digits(scaled.rounded());
        const std::uint64_t last_before_point = std::uint64_t{1} << shift_;
        const auto zeros = static_cast<unsigned>(
            std::countr_zero((digits & ~eight_zeros) | last_before_point) & ~7);
        const std::size_t before_point = (shift_ + 8 - zeros) / 8;
        const std::size_t length = scaled.is_negative() + before_point + tail_;
        const std::size_t cell = std::max(any_.style.width, length);

        // Each word written here covers what the one before has written too far.
        out = write_blanks(out, cell - length);
        *out = '-';
        out += scaled.is_negative();
        store(out, digits >> zeros);
        store(out + before_point, (digits >> shift_ & ~std::uint64_t{0xFF}) | '.');
        return out + before_point + tail_;
    }

private:
    static int decimals(const TorchStyle& style) {
        return style.form == Form::whole ? 0 : style.precision;
    }

    AnyCell<T> any_;
    double power_;
    unsigned shift_;
    std::size_t tail_;
};

template <class T>
class ScientificCell {
public:
    explicit ScientificCell(const TorchStyle& style)
        : any_{style}, cells_(style.precision, false, style.width) {}

    char* operator()(char* out, T value) const {
        char* end = cells_.write(out, static_cast<double>(value));
        return end != nullptr ? end : any_(out, value);
    }

private:
    AnyCell<T> any_;
    ScientificCells cells_;
};

}  // namespace

template <class T>
std::unique_ptr<Cells> torch_cells(const T* data, const TorchStyle& style, double greatest) {
    const auto cells = [&](auto write_cell) { return make_cells(data, style.width, write_cell); };
    if (style.form == Form::scientific) {
        if (ScientificCells::suits(style.precision)) return cells(ScientificCell<T>(style));
        return cells(AnyCell<T>{style});
    }
    using Small = SmallCell<T, AnyCell<T>, four_digits>;
    if (style.form == Form::fixed && greatest < 999.0 && Small::suits(style.precision)) {
        // All texts are at least that long, even where zeros have had no say in the width.
        const auto after_point = static_cast<std::size_t>(style.precision + 1);
        const std::size_t width = std::max(style.width, after_point + 1);
        return cells(Small(style.precision, width - after_point, width, infinity, {style}));
    }
    if (FixedCell<T>::suits(style)) return cells(FixedCell<T>(style));
    return cells(AnyCell<T>{style});
}

template std::unique_ptr<Cells> torch_cells(const float*, const TorchStyle&, double);
template std::unique_ptr<Cells> torch_cells(const double*, const TorchStyle&, double);

}  // namespace attn
