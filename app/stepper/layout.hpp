#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/stepper/session.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/cell_view.hpp"

namespace app {

/// The style of a piece of a line.
struct Look {
    std::optional<attn::Color>
        background{};  ///< text on it is black or white, whichever reads best
    bool bold = false;
    bool reverse = false;
    bool underline = false;
    bool dim = false;
};

struct Span {
    std::string text;
    Look look{};
};

/// One line of a screen: its pieces from the left.
using Line = std::vector<Span>;

/// The content of a screen, from the top.
struct Frame {
    std::vector<Line> lines;
    std::optional<std::size_t> typing_column{};  ///< column of the terminal's cursor, last line
};

/// Cuts or pads a line to exactly `columns` columns.
inline Line fitted_line(const Line& line, std::size_t columns) {
    Line result;
    std::size_t used = 0;
    for (const Span& span : line) {
        const std::size_t width = attn::display_width(span.text);
        if (used + width > columns) {
            result.push_back({attn::fitted(span.text, columns - used, false), span.look});
            return result;
        }
        result.push_back(span);
        used += width;
    }
    result.push_back({std::string(columns - used, ' ')});
    return result;
}

/// The visible part of the tensor: as many rows and columns as fit around the current cell, with
/// their labels. Only visible cells are formatted.
class TensorPane {
public:
    /// Exactly `rows` lines of at most `columns` columns. `shaded` allows colours.
    std::vector<Line> draw(const Session& session, std::size_t rows, std::size_t columns,
                           bool shaded);

    /// Describes the part of the tensor in the last drawing, with a range for each axis that is
    /// cut: `head 1 (of 0-3); rows query 6, columns key 0-4 of 6, float32`.
    std::string caption(const Session& session) const;

    /// The number of rows of cells in the last drawing, by which PgDn moves.
    std::size_t visible_rows() const { return visible_rows_; }

private:
    void measure(const Session& session);
    std::vector<Line> draw_text(const std::string& text, std::size_t rows) const;
    Line column_labels(std::size_t axis, std::size_t label_width, std::size_t column,
                       std::size_t count) const;
    Span cell(const Session& session, std::vector<std::size_t> indices, bool shaded) const;

    // The measured cells, their section and its tokens.
    std::unique_ptr<attn::CellView> view_;
    attn::Section section_;
    attn::Document tokens_;  ///< without sections
    std::size_t revision_ = 0;
    std::string step_;

    // The place of the visible part.
    std::size_t first_row_ = 0, first_column_ = 0;
    std::size_t end_row_ = 0, end_column_ = 0;
    std::size_t cell_width_ = 1;
    std::size_t visible_rows_ = 1;
    std::size_t batch_ = 0, head_ = 0;
};

/// State of the screen in addition to the session.
struct ScreenState {
    std::string message{};   ///< on the last line, and above it if it needs more lines
    bool is_typing = false;  ///< the last line is being typed
    std::string prompt{};    ///< before the typed text: `:`, `/`, `goto `
    std::string typed{};
    std::string page{};         ///< a text over the whole screen: help, why, a list; or empty
    std::size_t page_line = 0;  ///< its first visible line
};

/// Draws the screen of a session: title, formula and sentence at the top, the steps on the left,
/// the tensor in the middle, the derivation of the cell below, and hints, messages or typed text at
/// the bottom. Cut text is marked.
///
/// Range  any size; the cell is visible from 20 columns and 6 rows.
Frame draw_screen(const Session& session, const ScreenState& state, TensorPane& pane,
                  std::size_t rows, std::size_t columns, bool shaded);

/// Returns the number of lines of the page over the screen, broken to `columns`.
std::size_t page_lines(const ScreenState& state, std::size_t columns);

}  // namespace app
