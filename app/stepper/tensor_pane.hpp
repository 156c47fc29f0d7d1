#pragma once
#include <memory>
#include <vector>

#include "app/stepper/frame.hpp"
#include "app/stepper/session.hpp"
#include "attn/render/cell_view.hpp"

namespace app {

/// The window on the tensor: as many rows and columns as fit, around the cell looked at, with their
/// labels. Only what is visible is formatted.
class TensorPane {
public:
    /// Exactly `rows` lines of at most `columns` columns. `shaded` allows colours.
    std::vector<Line> draw(const Session& session, std::size_t rows, std::size_t columns,
                           bool shaded);

    /// `head 1 (of 0-3); rows query 6, columns key 0-4 of 6, float32`: where the last drawing lies
    /// in the tensor. Ranges stand for axes that it cuts.
    std::string caption(const Session& session) const;

    /// How many rows of cells the last drawing had room for: what PgDn moves by.
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

    // Where the window stands.
    std::size_t first_row_ = 0, first_column_ = 0;
    std::size_t end_row_ = 0, end_column_ = 0;
    std::size_t cell_width_ = 1;
    std::size_t visible_rows_ = 1;
    std::size_t batch_ = 0;
};

}  // namespace app
