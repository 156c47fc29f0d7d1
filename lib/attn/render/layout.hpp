#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "attn/render/cells.hpp"
#include "attn/render/shown.hpp"
#include "attn/text/text_pieces.hpp"

namespace attn {

/// Writes brackets, separators and line breaks around the cells of a tensor, as PyTorch and NumPy
/// both nest them. How the dots of a cut row stand among its cells is for each library to say.
class Layout {
public:
    /// Writes what lies behind the axes before `position`.
    void write_axis(std::size_t position, std::size_t offset) {
        if (position == shown_.dimension()) {
            RowPlace place{1, text_.size()};
            cells_.write(text_, offset, offset + 1, separators_, place);
        } else if (position + 1 == shown_.dimension()) {
            write_row(shown_.axis(position), offset);
        } else {
            write_parts(position, offset);
        }
    }

    /// The columns of the last line so far.
    std::size_t last_line() const { return hang_ + text_.size() - last_line_begin_; }

protected:
    /// `hang` columns are before the cells of a line. At least `least_tail` indices are printed
    /// behind the dots of a cut axis.
    Layout(TextPieces& text, const Shown& shown, const Cells& cells, std::string_view gap,
           std::size_t hang, std::size_t least_tail)
        : text_(text),
          shown_(shown),
          cells_(cells),
          hang_(hang),
          part_end_(gap.substr(0, gap.find(' '))),
          least_tail_(least_tail),
          last_line_begin_(text.size() + shown.dimension()) {
        separators_.gap = gap;
        separators_.line_break = std::string(part_end_) + '\n' + std::string(hang, ' ');
    }
    ~Layout() = default;

    /// Begins a new line in a row.
    void break_line(RowPlace& place) {
        text_ << separators_.line_break;
        place.left = separators_.cells_per_line;
        place.line_begin = text_.size();
    }

    TextPieces& text_;
    const Shown& shown_;
    const Cells& cells_;
    Separators separators_{};
    std::size_t hang_;

private:
    /// Writes the dots of a cut row of which `place` is written.
    virtual void write_dots(const ShownAxis& axis, RowPlace& place) = 0;

    std::size_t tail_begin(const ShownAxis& axis) const {
        return axis.length - (axis.cut ? std::max(axis.tail, least_tail_) : axis.tail);
    }

    void write_row(const ShownAxis& axis, std::size_t offset) {
        text_ << '[';
        RowPlace place{separators_.cells_per_line, text_.size()};
        cells_.write(text_, offset, offset + axis.head, separators_, place);
        if (axis.cut) {
            write_dots(axis, place);
            place.first = false;
        }
        cells_.write(text_, offset + tail_begin(axis), offset + axis.length, separators_, place);
        last_line_begin_ = place.line_begin;
        text_ << ']';
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

    std::string_view part_end_;  ///< what is seen of the gap
    std::size_t least_tail_;
    /// Where the first cell of the last line begins; where it would begin as long as there is none.
    std::size_t last_line_begin_;
};

}  // namespace attn
