#include "attn/render/torch_text.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attn/render/cells.hpp"
#include "attn/render/number_text.hpp"
#include "attn/render/torch_cells.hpp"
#include "attn/render/torch_style.hpp"

namespace attn {
namespace {

constexpr std::string_view prefix = "tensor(";

template <class T>
std::unique_ptr<Cells> cells_of(const T* data, const Shown& shown, const Settings& settings) {
    const Survey found = survey(data, shown);
    return torch_cells(data, torch_style(found, settings), found.maximum());
}

std::unique_ptr<Cells> cells_of(const std::int64_t* data, const Shown& shown, const Settings&) {
    return integer_cells(data, integer_width(data, shown));
}

std::unique_ptr<Cells> cells_of(const bool* data, const Shown& shown, const Settings&) {
    std::size_t width = 4;
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        if (!std::all_of(data + begin, data + end, std::identity())) width = 5;
    });
    return word_cells(data, width);
}

/// Writes brackets, commas and line breaks around the cells.
class TorchLayout {
public:
    TorchLayout(TextPieces& text, const Shown& shown, const Cells& cells, std::size_t linewidth)
        : text_(text),
          shown_(shown),
          cells_(cells),
          last_line_begin_(text.size() + shown.dimension()) {
        if (shown.dimension() == 0) return;
        const std::size_t indent = prefix.size() + shown.dimension();
        const std::size_t room = linewidth > indent - 1 ? linewidth - (indent - 1) : 0;
        separators_.cells_per_line = std::max<std::size_t>(1, room / (cells.width() + 2));
        separators_.line_break = ",\n" + std::string(indent, ' ');
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
    std::size_t last_line() const {
        return prefix.size() + shown_.dimension() + text_.size() - last_line_begin_;
    }

private:
    TextPieces& text_;
    const Shown& shown_;
    const Cells& cells_;
    Separators separators_{", "};
    /// Where the first cell of the last line begins; where it would begin as long as there is none.
    std::size_t last_line_begin_;

    void write_row(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        text_ << '[';
        RowPlace place{separators_.cells_per_line, text_.size()};
        cells_.write(text_, offset, offset + axis.head, separators_, place);
        if (axis.cut) {
            // They are a cell with a blank of its own, except where nothing else is shown.
            write_separator(place);
            text_ << (axis.head > 0 ? " ..." : "...");
            place.first = false;
            --place.left;
        }
        cells_.write(text_, offset + axis.length - axis.tail, offset + axis.length, separators_,
                     place);
        last_line_begin_ = place.line_begin;
        text_ << ']';
    }

    void write_separator(RowPlace& place) {
        if (place.first) return;
        if (place.left > 0) {
            text_ << separators_.gap;
        } else {
            text_ << separators_.line_break;
            place.left = separators_.cells_per_line;
            place.line_begin = text_.size();
        }
    }

    void write_parts(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        const std::size_t lines = shown_.dimension() - 1 - position;
        bool first = true;
        const auto begin_part = [&] {
            if (!first) {
                text_ << ',';
                text_.repeat(lines, '\n');
                text_.repeat(prefix.size() + position + 1, ' ');
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
        write_range(axis.length - axis.tail, axis.length);
        text_ << ']';
    }
};

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

void write_torch_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options,
                      std::string_view suffix) {
    const Settings settings = settings_for(options, torch_defaults);
    text << prefix;
    // PyTorch counts two columns more than the last line has.
    std::size_t line = 2;
    if (tensor.size() == 0) {
        text << "[]";
        line += prefix.size() + 2;
    } else {
        std::visit(
            [&](const auto& array) {
                const Shown shown(tensor.shape(), settings);
                const auto cells = cells_of(array.data(), shown, settings);
                TorchLayout layout(text, shown, *cells, settings.linewidth);
                layout.write_axis(0, 0);
                line += layout.last_line();
            },
            tensor.values());
    }

    std::vector<std::string> suffixes = notes(tensor, options.default_dtype);
    if (!suffix.empty()) suffixes.emplace_back(suffix);
    for (const std::string& note : suffixes) {
        if (line + note.size() + 2 > settings.linewidth) {
            text << ",\n";
            text.repeat(prefix.size(), ' ');
            line = prefix.size() + note.size();
        } else {
            text << ", ";
            line += note.size() + 2;
        }
        text << note;
    }
    text << ')';
}

std::string torch_text(const Tensor& tensor, const PrintOptions& options, std::string_view suffix) {
    return gathered_text(
        [&](TextPieces& text) { write_torch_text(text, tensor, options, suffix); });
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
