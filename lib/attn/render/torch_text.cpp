#include "attn/render/torch_text.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attn/render/number_text.hpp"
#include "attn/render/torch_style.hpp"

namespace attn {
namespace {

constexpr std::string_view prefix = "tensor(";

/// The cells of one tensor: a width for all, and the text of each.
template <class T>
struct TorchCells {
    TorchStyle style;
    TorchCells(const T* data, const Shown& shown, const Settings& settings)
        : style(torch_style(survey(data, shown), settings)) {}
    std::size_t width() const { return style.width; }
    void append(std::string& out, T value) const {
        NumberBuffer buffer;
        const char* end = write_torch_value(buffer.data(), static_cast<double>(value), style.form,
                                            style.precision);
        append_padded(out, buffer.data(), end, style.width);
    }
};

template <>
struct TorchCells<std::int64_t> {
    std::size_t widest;
    TorchCells(const std::int64_t* data, const Shown& shown, const Settings&)
        : widest(integer_width(data, shown)) {}
    std::size_t width() const { return widest; }
    void append(std::string& out, std::int64_t value) const {
        NumberBuffer buffer;
        append_padded(out, buffer.data(), write_integer(buffer.data(), value), widest);
    }
};

template <>
struct TorchCells<bool> {
    std::size_t widest = 1;
    TorchCells(const bool* data, const Shown& shown, const Settings&) {
        shown.for_each_range([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                widest = std::max(widest, word(data[i]).size());
            }
        });
    }
    static std::string_view word(bool value) { return value ? "True" : "False"; }
    std::size_t width() const { return widest; }
    void append(std::string& out, bool value) const {
        const std::string_view text = word(value);
        append_padded(out, text.data(), text.data() + text.size(), widest);
    }
};

/// Writes brackets, commas and line breaks around the cells.
template <class T>
class TorchLayout {
public:
    TorchLayout(std::string& out, const T* data, const Shown& shown, const TorchCells<T>& cells,
                std::size_t linewidth)
        : out_(out), data_(data), shown_(shown), cells_(cells) {
        if (shown.dimension() == 0) return;
        const std::size_t indent = prefix.size() + shown.dimension() - 1;
        const std::size_t room = linewidth > indent ? linewidth - indent : 0;
        cells_per_line_ = std::max<std::size_t>(1, room / (cells.width() + 2));
    }

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
    const TorchCells<T>& cells_;
    std::size_t cells_per_line_ = 1;

    void append_line_break(std::size_t position, std::size_t lines) {
        out_ += ',';
        out_.append(lines, '\n');
        out_.append(prefix.size() + position + 1, ' ');
    }

    void append_row(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        std::size_t cell = 0;
        const auto begin_cell = [&] {
            if (cell > 0 && cell % cells_per_line_ == 0) {
                append_line_break(position, 1);
            } else if (cell > 0) {
                out_ += ", ";
            }
            ++cell;
        };
        const auto append_cells = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                begin_cell();
                cells_.append(out_, data_[offset + i]);
            }
        };

        out_ += '[';
        append_cells(0, axis.head);
        if (axis.cut) {
            begin_cell();
            // The dots bring a blank of their own, except where nothing else is shown.
            out_ += axis.head > 0 ? " ..." : "...";
        }
        append_cells(axis.length - axis.tail, axis.length);
        out_ += ']';
    }

    void append_parts(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        const std::size_t lines = shown_.dimension() - 1 - position;
        bool first = true;
        const auto begin_part = [&] {
            if (!first) append_line_break(position, lines);
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
        append_range(axis.length - axis.tail, axis.length);
        out_ += ']';
    }
};

template <class T>
void append_values(std::string& out, const Array<T>& array, const Settings& settings) {
    const Shown shown(shape_of(array), settings);
    const TorchCells<T> cells(array.data(), shown, settings);
    out.reserve(out.size() + shown.count() * (cells.width() + 3) + 64);
    TorchLayout<T>(out, array.data(), shown, cells, settings.linewidth).append_axis(0, 0);
}

/// `size=...` of an empty tensor, and `dtype=...` where the reader could not guess it.
std::vector<std::string> notes(const Tensor& tensor, DType default_dtype) {
    std::vector<std::string> result;
    const bool empty = tensor.size() == 0;
    if (empty && tensor.dimension() != 1) result.push_back("size=" + shape_text(tensor.shape()));
    const bool obvious = tensor.dtype() == default_dtype || (!empty && !tensor.is_floating());
    if (!obvious) result.push_back("dtype=torch." + std::string(dtype_name(tensor.dtype())));
    return result;
}

}  // namespace

std::string torch_text(const Tensor& tensor, const PrintOptions& options, std::string_view suffix) {
    const Settings settings = settings_for(options, torch_defaults);
    std::string text(prefix);
    if (tensor.size() == 0) {
        text += "[]";
    } else {
        std::visit([&](const auto& array) { append_values(text, array, settings); },
                   tensor.values());
    }

    std::vector<std::string> suffixes = notes(tensor, options.default_dtype);
    if (!suffix.empty()) suffixes.emplace_back(suffix);
    // PyTorch counts two columns more than the last line has.
    const std::size_t line_break = text.rfind('\n');
    std::size_t line = text.size() + 2 - (line_break == std::string::npos ? 0 : line_break + 1);
    for (const std::string& note : suffixes) {
        if (line + note.size() + 2 > settings.linewidth) {
            text += ",\n" + std::string(prefix.size(), ' ');
            line = prefix.size() + note.size();
        } else {
            text += ", ";
            line += note.size() + 2;
        }
        text += note;
    }
    return text + ')';
}

std::string torch_size_text(const Shape& shape) {
    std::string text = "torch.Size([";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + "])";
}

std::string python_float_text(double value) {
    NumberBuffer buffer;
    return {buffer.data(), write_scalar(buffer.data(), value)};
}

}  // namespace attn
