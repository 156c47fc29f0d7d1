#include "attn/render/numpy_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "attn/render/layout.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

class NumpyLayout final : public Layout {
public:
    /// `indent` columns are before the array. With edgeitems 0 NumPy still prints the last index.
    NumpyLayout(TextPieces& text, const Shown& shown, const Cells& cells,
                std::string_view separator, std::size_t indent, std::size_t linewidth)
        : Layout(text, shown, cells, separator, indent + shown.dimension(), 1) {
        // A column stays free for each closing bracket, and one for the separator.
        const std::size_t dimension = shown.dimension();
        room_ = linewidth > dimension ? linewidth - dimension : 0;
        cells_per_line_ = 1 + cells_after(hang_ + cells.width);
    }

private:
    /// How many more cells fit on a line that has so many columns already.
    std::size_t cells_after(std::size_t columns) const {
        return columns < room_ ? (room_ - columns) / (gap_.size() + cells_.width) : 0;
    }

    /// Three dots are a word shorter than most cells, so that the line may have room for them only.
    void write_dots(std::size_t) override {
        constexpr std::string_view dots = "...";
        separate(last_line() + gap_.size() + dots.size() <= room_);
        text_ << dots;
        left_ = cells_after(last_line());
    }

    std::size_t room_;  ///< columns that the cells of a line may reach
};

/// Writes the bracketed values behind `indent` columns. Returns the columns of the last line.
std::size_t write_values(TextPieces& text, const Tensor& tensor, const Settings& settings,
                         std::string_view separator, std::size_t indent, std::size_t linewidth) {
    return std::visit(
        [&](const auto& array) {
            const Shown shown(tensor.shape(), settings);
            // NumPy's slice of the last 0 items is everything, so everything decides the style.
            const Shown measured = settings.edgeitems == 0 ? Shown(tensor.shape()) : shown;
            const auto form_of = [&](const auto* data) {
                return numpy_form(data, measured, settings);
            };
            const Cells cells =
                cells_of(array.data(), measured, shown.dimension() == 0 ? 0 : 5, form_of);
            NumpyLayout layout(text, shown, cells, separator, indent, linewidth);
            layout.write_axis(0, 0);
            return layout.last_line();
        },
        tensor.values());
}

}  // namespace

void write_numpy_str(TextPieces& text, const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, numpy_defaults);
    if (tensor.dimension() == 0) {
        text << scalar_text(tensor, 0);
    } else if (tensor.size() == 0) {
        text << "[]";
    } else {
        write_values(text, tensor, settings, " ", 0, settings.linewidth);
    }
}

void write_numpy_repr(TextPieces& text, const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, numpy_defaults);
    constexpr std::string_view prefix = "array(";
    text << prefix;
    std::size_t line = 0;
    if (tensor.size() > 0) {
        // A column stays free for the parenthesis or the comma that follows.
        const std::size_t linewidth =
            settings.linewidth - std::min<std::size_t>(1, settings.linewidth);
        line = write_values(text, tensor, settings, ", ", prefix.size(), linewidth);
    } else {
        std::string empty = "[]";
        if (tensor.dimension() != 1) empty += ", shape=" + shape_text(tensor.shape());
        text << empty;
        line = prefix.size() + empty.size();
    }

    // The type is noted unless the values show it.
    if (tensor.size() == 0 || tensor.dtype() == DType::float32) {
        const std::string note = "dtype=" + std::string(dtype_name(tensor.dtype()));
        text << ',';
        // the comma, the parenthesis and a blank
        if (line + note.size() + 3 > settings.linewidth) {
            text << '\n';
            text.repeat(prefix.size(), ' ');
        } else {
            text << ' ';
        }
        text << note;
    }
    text << ')';
}

std::string numpy_str(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_numpy_str(text, tensor, options); });
}

std::string numpy_repr(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_numpy_repr(text, tensor, options); });
}

}  // namespace attn
