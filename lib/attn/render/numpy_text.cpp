#include "attn/render/numpy_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "attn/render/number_text.hpp"
#include "attn/render/numpy_style.hpp"

namespace attn {
namespace {

/// The cells of one array, all of the same width.
template <class T>
struct NumpyCells {
    NumpyStyle style;
    NumpyCells(const T* data, const Shown& shown, const Settings& settings)
        : style(numpy_style(data, shown, settings)) {}
    std::size_t width() const { return numpy_cell_width(style); }
    void append(std::string& out, T value) const {
        const std::size_t size = out.size();
        out.resize(size + width());
        write_numpy_cell(out.data() + size, value, style);
    }
};

template <>
struct NumpyCells<std::int64_t> {
    std::size_t widest;
    NumpyCells(const std::int64_t* data, const Shown& shown, const Settings&)
        : widest(integer_width(data, shown)) {}
    std::size_t width() const { return widest; }
    void append(std::string& out, std::int64_t value) const {
        NumberBuffer buffer;
        append_padded(out, buffer.data(), write_integer(buffer.data(), value), widest);
    }
};

template <>
struct NumpyCells<bool> {
    bool scalar;
    NumpyCells(const bool*, const Shown& shown, const Settings&) : scalar(shown.dimension() == 0) {}
    std::size_t width() const { return 5; }
    void append(std::string& out, bool value) const {
        if (value) {
            out += scalar ? "True" : " True";
        } else {
            out += "False";
        }
    }
};

/// Writes brackets, separators and line breaks around the cells.
template <class T>
class NumpyLayout {
public:
    NumpyLayout(std::string& out, const T* data, const Shown& shown, const NumpyCells<T>& cells,
                std::string_view separator, std::size_t linewidth)
        : out_(out),
          data_(data),
          shown_(shown),
          cells_(cells),
          separator_(separator),
          prefix_(out.size()),
          linewidth_(linewidth) {}

    void append_axis(std::size_t position, std::size_t offset) {
        if (position == shown_.dimension()) {
            cells_.append(out_, data_[offset]);
        } else if (position + 1 == shown_.dimension()) {
            append_row(position, offset);
        } else {
            append_parts(position, offset);
        }
    }

private:
    std::string& out_;
    const T* data_;
    const Shown& shown_;
    const NumpyCells<T>& cells_;
    std::string_view separator_;
    std::size_t prefix_;
    std::size_t linewidth_;

    std::size_t hang(std::size_t position) const { return prefix_ + 1 + position; }

    void strip_blanks() { out_.erase(out_.find_last_not_of(' ') + 1); }

    // With edgeitems 0 NumPy still prints the last index.
    static std::size_t tail_begin(const ShownAxis& axis) {
        return axis.length - (axis.cut ? std::max<std::size_t>(axis.tail, 1) : axis.tail);
    }

    void append_row(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        // A column stays free for each closing bracket, and one for the separator.
        const std::size_t reserved = position + 1;
        const std::size_t room = linewidth_ > reserved ? linewidth_ - reserved : 0;
        out_ += '[';
        std::size_t line_begin = out_.size() - hang(position);
        bool first = true;
        const auto begin_word = [&](std::size_t length) {
            if (!first) out_ += separator_;
            first = false;
            const std::size_t line = out_.size() - line_begin;
            if (line + length <= room || line <= hang(position)) return;
            strip_blanks();
            out_ += '\n';
            line_begin = out_.size();
            out_.append(hang(position), ' ');
        };
        const auto append_cells = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                begin_word(cells_.width());
                cells_.append(out_, data_[offset + i]);
            }
        };

        append_cells(0, axis.head);
        if (axis.cut) {
            begin_word(3);
            out_ += "...";
        }
        append_cells(tail_begin(axis), axis.length);
        out_ += ']';
    }

    void append_parts(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        const std::size_t lines = shown_.dimension() - 1 - position;
        bool first = true;
        const auto begin_part = [&] {
            if (!first) {
                out_ += separator_.substr(0, separator_.find(' '));
                out_.append(lines, '\n');
                out_.append(hang(position), ' ');
            }
            first = false;
        };
        const auto append_range = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                begin_part();
                append_axis(position + 1, offset + i * axis.stride);
            }
        };

        out_ += '[';
        append_range(0, axis.head);
        if (axis.cut) {
            begin_part();
            out_ += "...";
        }
        append_range(tail_begin(axis), axis.length);
        out_ += ']';
    }
};

/// Appends the bracketed values to `out`, whose length so far is the indentation of what follows.
void append_values(std::string& out, const Tensor& tensor, const Settings& settings,
                   std::string_view separator, std::size_t linewidth) {
    std::visit(
        [&]<class T>(const Array<T>& array) {
            const Shown shown(shape_of(array), settings);
            // NumPy's slice of the last 0 items is everything, so everything decides the style.
            const Shown measured = settings.edgeitems == 0 ? Shown(shape_of(array)) : shown;
            const NumpyCells<T> cells(array.data(), measured, settings);
            out.reserve(out.size() + shown.count() * (cells.width() + 3) + 64);
            NumpyLayout<T>(out, array.data(), shown, cells, separator, linewidth).append_axis(0, 0);
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

std::string numpy_str(const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, numpy_defaults);
    if (tensor.dimension() == 0) return scalar_text(tensor);
    if (tensor.size() == 0) return "[]";
    std::string text;
    append_values(text, tensor, settings, " ", settings.linewidth);
    return text;
}

std::string numpy_repr(const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, numpy_defaults);
    std::string text = "array(";
    const std::size_t indent = text.size();
    if (tensor.size() > 0) {
        // A column stays free for the parenthesis or the comma that follows.
        const std::size_t linewidth =
            settings.linewidth - std::min<std::size_t>(1, settings.linewidth);
        append_values(text, tensor, settings, ", ", linewidth);
    } else {
        text += "[]";
        if (tensor.dimension() != 1) text += ", shape=" + shape_text(tensor.shape());
    }

    // The type is noted unless the values show it.
    if (tensor.size() > 0 && tensor.dtype() != DType::float32) return text + ')';
    const std::string note = "dtype=" + std::string(dtype_name(tensor.dtype())) + ")";
    text += ',';
    const std::size_t line = text.size() - (text.rfind('\n') + 1);
    if (line + note.size() + 1 > settings.linewidth) {
        text += '\n' + std::string(indent, ' ');
    } else {
        text += ' ';
    }
    return text + note;
}

std::string numpy_shape_text(const Shape& shape) { return shape_text(shape); }

}  // namespace attn
