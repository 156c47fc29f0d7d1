#include "attn/render/numpy_text.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "attn/render/cells.hpp"
#include "attn/render/number_text.hpp"
#include "attn/render/numpy_cells.hpp"
#include "attn/render/numpy_style.hpp"

namespace attn {
namespace {

template <class T>
std::unique_ptr<Cells> cells_of(const T* data, const Shown& shown, const Settings& settings) {
    return numpy_cells(data, numpy_style(data, shown, settings));
}

std::unique_ptr<Cells> cells_of(const std::int64_t* data, const Shown& shown, const Settings&) {
    return integer_cells(data, integer_width(data, shown));
}

std::unique_ptr<Cells> cells_of(const bool* data, const Shown& shown, const Settings&) {
    return word_cells(data, shown.dimension() == 0 ? 0 : 5);
}

/// Writes brackets, separators and line breaks around the cells.
class NumpyLayout {
public:
    /// `indent` columns are before the array.
    NumpyLayout(TextPieces& text, const Shown& shown, const Cells& cells,
                std::string_view separator, std::size_t indent, std::size_t linewidth)
        : text_(text), shown_(shown), cells_(cells), last_line_begin_(text.size()) {
        const std::size_t dimension = shown.dimension();
        hang_ = indent + dimension;
        // A column stays free for each closing bracket, and one for the separator.
        room_ = linewidth > dimension ? linewidth - dimension : 0;

        const std::string_view visible = separator.substr(0, separator.find(' '));
        part_end_ = visible;
        separators_.gap = separator;
        separators_.line_break = std::string(visible) + '\n' + std::string(hang_, ' ');
        separators_.cells_per_line = 1 + cells_after(hang_ + cells.width());
        separators_.trims = visible.empty();
    }

    void write_axis(std::size_t position, std::size_t offset) {
        if (position == shown_.dimension()) {
            RowPlace place{1, text_.size()};
            cells_.write(text_, offset, offset + 1, separators_, place);
        } else if (position + 1 == shown_.dimension()) {
            write_row(position, offset);
        } else {
            write_parts(position, offset);
        }
    }

    /// The columns of the last line so far.
    std::size_t last_line() const { return hang_ + text_.size() - last_line_begin_; }

private:
    TextPieces& text_;
    const Shown& shown_;
    const Cells& cells_;
    Separators separators_;
    std::string_view part_end_;    ///< what is seen of the separator
    std::size_t hang_;             ///< columns before the cells of a line
    std::size_t room_;             ///< columns that the cells of a line may reach
    std::size_t last_line_begin_;  ///< where the first cell of the last line begins

    /// How many more cells fit on a line that has so many columns already.
    std::size_t cells_after(std::size_t columns) const {
        return columns < room_ ? (room_ - columns) / (separators_.gap.size() + cells_.width()) : 0;
    }

    // With edgeitems 0 NumPy still prints the last index.
    static std::size_t tail_begin(const ShownAxis& axis) {
        return axis.length - (axis.cut ? std::max<std::size_t>(axis.tail, 1) : axis.tail);
    }

    void write_row(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        text_ << '[';
        RowPlace place{separators_.cells_per_line, text_.size()};
        cells_.write(text_, offset, offset + axis.head, separators_, place);
        if (axis.cut) write_dots(place);
        cells_.write(text_, offset + tail_begin(axis), offset + axis.length, separators_, place);
        last_line_begin_ = place.line_begin;
        text_ << ']';
    }

    /// Three dots are a word shorter than most cells, so that the line may have room for them only.
    void write_dots(RowPlace& place) {
        constexpr std::string_view dots = "...";
        if (!place.first) {
            const std::size_t columns =
                hang_ + text_.size() - place.line_begin + separators_.gap.size();
            if (columns + dots.size() <= room_) {
                text_ << separators_.gap;
            } else {
                if (separators_.trims) text_.drop_blanks();
                text_ << separators_.line_break;
                place.line_begin = text_.size();
            }
        }
        text_ << dots;
        place.first = false;
        place.left = cells_after(hang_ + text_.size() - place.line_begin);
    }

    void write_parts(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        const std::size_t lines = shown_.dimension() - 1 - position;
        bool first = true;
        const auto begin_part = [&] {
            if (!first) {
                text_ << part_end_;
                text_.repeat(lines, '\n');
                text_.repeat(hang_ - lines, ' ');
            }
            first = false;
        };
        const auto write_range = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                begin_part();
                write_axis(position + 1, offset + i * axis.stride);
            }
        };

        text_ << '[';
        write_range(0, axis.head);
        if (axis.cut) {
            begin_part();
            text_ << "...";
        }
        write_range(tail_begin(axis), axis.length);
        text_ << ']';
    }
};

/// Writes the bracketed values behind `indent` columns. Returns the columns of the last line.
std::size_t write_values(TextPieces& text, const Tensor& tensor, const Settings& settings,
                         std::string_view separator, std::size_t indent, std::size_t linewidth) {
    return std::visit(
        [&](const auto& array) {
            const Shown shown(tensor.shape(), settings);
            // NumPy's slice of the last 0 items is everything, so everything decides the style.
            const Shown measured = settings.edgeitems == 0 ? Shown(tensor.shape()) : shown;
            const auto cells = cells_of(array.data(), measured, settings);
            NumpyLayout layout(text, shown, *cells, separator, indent, linewidth);
            layout.write_axis(0, 0);
            return layout.last_line();
        },
        tensor.values());
}

std::string scalar_text(const Tensor& tensor) {
    NumberBuffer buffer;
    char* const begin = buffer.data();
    switch (tensor.dtype()) {
        case DType::float32:
            return {begin, write_scalar(begin, *tensor.as<float>().data())};
        case DType::float64:
            return {begin, write_scalar(begin, *tensor.as<double>().data())};
        case DType::int64:
            return {begin, write_integer(begin, *tensor.as<std::int64_t>().data())};
        case DType::boolean:
            break;
    }
    return *tensor.as<bool>().data() ? "True" : "False";
}

}  // namespace

void write_numpy_str(TextPieces& text, const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, numpy_defaults);
    if (tensor.dimension() == 0) {
        text << scalar_text(tensor);
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

std::string numpy_shape_text(const Shape& shape) { return shape_text(shape); }

}  // namespace attn
