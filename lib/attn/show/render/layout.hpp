#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/ground/text/text_pieces.hpp"
#include "attn/show/render/number_form.hpp"

namespace attn {

/// Words next to the rows of a tensor, as comments on the same line, for a terminal.
class RowWords {
public:
    /// `word_of` returns the word of a row, or an empty text. Lines stay within `columns`.
    RowWords(std::function<std::string(std::size_t row)> word_of, std::size_t columns, Ink ink)
        : word_of_(std::move(word_of)), columns_(columns), ink_(ink) {}

    /// Records the end of a row, on a line of `used` columns that `brackets` may follow.
    void end_row(const TextPieces& text, std::size_t row, std::size_t used, std::size_t brackets) {
        row_ = row;
        line_begin_ = text.size() - used;
        column_ = used + brackets + 2;
    }

    /// Writes the word of the last row, if it is not written yet.
    void write(TextPieces& text) {
        if (!row_) return;
        const std::string word = word_of_(*row_);
        row_.reset();
        const std::size_t used = text.size() - line_begin_;
        const std::size_t column = std::max(column_, used + 2);
        constexpr std::size_t narrowest = 8;
        if (word.empty() || column + narrowest > columns_) return;
        text.repeat(column - used, ' ');
        text << ink_.of(ink_.formula, cut_to("# " + word, columns_ - column));
    }

private:
    std::function<std::string(std::size_t)> word_of_;
    std::size_t columns_;
    Ink ink_;
    std::optional<std::size_t> row_{};
    std::size_t line_begin_ = 0;
    std::size_t column_ = 0;  ///< column of the words
};

/// Writes brackets, separators and line breaks around the cells of a tensor, nested as in both
/// PyTorch and NumPy. Each library's subclass writes the dots of a cut row.
class Layout {
public:
    /// Writes everything below the axes before `position`.
    void write_axis(std::size_t position, std::size_t offset) {
        if (position == shown_.dimension()) {
            begin_row();
            write_cells(offset, offset + 1);
        } else if (position + 1 == shown_.dimension()) {
            write_row(shown_.axis(position), offset);
        } else {
            write_parts(position, offset);
        }
    }

    /// Writes these words next to the rows, except for the last one.
    void write_words(RowWords* words) { words_ = words; }

    /// Returns the number of columns of the last line so far.
    std::size_t last_line() const { return hang_ + text_.size() - line_begin_; }

protected:
    /// `hang` is the number of columns before the cells of a line. At least `least_tail` indices
    /// are printed after the dots of a cut axis.
    Layout(TextPieces& text, const Shown& shown, const Cells& cells, std::string_view gap,
           std::size_t hang, std::size_t least_tail)
        : text_(text),
          shown_(shown),
          cells_(cells),
          gap_(gap),
          hang_(hang),
          part_end_(gap.substr(0, gap.find(' '))),
          line_break_(std::string(part_end_) + '\n' + std::string(hang, ' ')),
          least_tail_(least_tail),
          line_begin_(text.size() + shown.dimension()) {}
    ~Layout() = default;

    /// Moves to the next place in a row: after the gap, or on a new line.
    void separate(bool fits) {
        if (is_first_) return;
        if (fits) {
            text_ << gap_;
            return;
        }
        if (part_end_.empty()) text_.drop_blanks();
        text_ << line_break_;
        left_ = cells_per_line_;
        line_begin_ = text_.size();
    }

    TextPieces& text_;
    const Shown& shown_;
    const Cells& cells_;
    std::string_view gap_;
    std::size_t hang_;
    std::size_t cells_per_line_ = std::numeric_limits<std::size_t>::max();
    std::size_t left_ = 0;  ///< number of cells that still fit on the line

private:
    /// Writes the dots of a cut row after `head` cells.
    virtual void write_dots(std::size_t head) = 0;

    std::size_t tail_begin(const ShownAxis& axis) const {
        return axis.length - (axis.cut ? std::max(axis.tail, least_tail_) : axis.tail);
    }

    void begin_row() {
        is_first_ = true;
        left_ = cells_per_line_;
        line_begin_ = text_.size();
    }

    void write_cells(std::size_t begin, std::size_t end) {
        for (; begin < end; ++begin, --left_) {
            separate(left_ > 0);
            is_first_ = false;
            const std::string cell = cells_.text(begin);
            if (cells_.unseen > 0 && cell.size() > cells_.width) line_begin_ += cells_.unseen;
            text_ << cell;
        }
    }

    void write_row(const ShownAxis& axis, std::size_t offset) {
        text_ << '[';
        begin_row();
        write_cells(offset, offset + axis.head);
        if (axis.cut) {
            write_dots(axis.head);
            is_first_ = false;
        }
        write_cells(offset + tail_begin(axis), offset + axis.length);
        if (words_ != nullptr) {
            words_->end_row(text_, offset / axis.length, last_line(), shown_.dimension() + 1);
        }
        text_ << ']';
    }

    void write_parts(std::size_t position, std::size_t offset) {
        const ShownAxis& axis = shown_.axis(position);
        const std::size_t lines = shown_.dimension() - 1 - position;
        bool first = true;
        const auto begin_part = [&] {
            if (!first) {
                text_ << part_end_;
                if (words_ != nullptr) words_->write(text_);
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

    std::string_view part_end_;  ///< the visible part of the gap
    std::string line_break_;     ///< and the indentation of the next cell
    std::size_t least_tail_;
    /// The column of the first cell of the last line, or where it would be.
    std::size_t line_begin_;
    bool is_first_ = true;  ///< nothing has been written to the row
    RowWords* words_ = nullptr;
};

/// A box of a flow diagram, or a bend in an arrow that passes a layer.
struct FlowNode {
    double width = 0;
    std::vector<std::size_t> reads{};  ///< the earlier nodes that arrows come from
    bool is_bend = false;

    // Set by the layout.
    std::size_t layer = 0;
    double x = 0;  ///< of its centre
    double y = 0;  ///< of its upper edge, set by the figure
};

/// Adds bends after the nodes, and assigns each a layer and a place on it: a node is above its
/// readers, arrows are short with few crossings, and no arrow passes through a box.
///
/// Source  K. Sugiyama et al., "Methods for visual understanding of hierarchical system
///         structures", 1981; places by isotonic regression.
std::vector<FlowNode> laid_out(std::vector<FlowNode> nodes);

}  // namespace attn
