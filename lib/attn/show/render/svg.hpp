#pragma once
#include <string>
#include <string_view>

#include "attn/ground/text/xml.hpp"
#include "attn/show/render/figures.hpp"

namespace attn {

/// Formats a length or coordinate in pixels, to a tenth.
std::string px(double length);

/// The place and style of a text.
struct TextAt {
    double x = 0;
    double y = 0;
    const char* anchor = "start";  ///< or `middle`, `end`: the point at `x`
    const char* style = "";        ///< a class of the style sheet
    double turned = 0;             ///< degrees
};

/// A picture that grows downwards.
class Svg {
public:
    /// `width` in pixels scales the whole picture; 0 leaves it as drawn.
    explicit Svg(Theme theme, double width = 0) : theme_(theme), width_(width) {}

    void text(const TextAt& place, std::string_view words);
    /// Draws text of that size in lines of at most `columns` characters; returns the y of the next
    /// line.
    double paragraph(TextAt place, std::string_view words, std::size_t columns, double size);
    /// Adds SVG elements.
    void add(std::string_view elements) { body_ += elements; }
    /// Extends the picture to this point.
    void reach(double x, double y);
    double bottom() const { return bottom_; }

    /// Returns the whole file, with `title` as its accessible name, and `words` as its description
    /// for screen readers.
    std::string finish(std::string_view title, std::string_view words = {},
                       std::string_view command = {}) const;

private:
    Theme theme_;
    double width_;
    std::string body_;
    double right_ = 0;
    double bottom_ = 0;
};

/// Estimates the width of a text in pixels, in a sans-serif font of `size`.
double text_width(std::string_view text, double size = 13);
/// Returns the width of a formula, in a font whose letters are equally wide.
double formula_width(std::string_view text);

/// Sizes of type, in pixels: digits, labels, shapes in boxes. Text smaller than 6 pt, which are 8
/// px of a page, is not readable on paper.
inline constexpr double digit_type = 12, small_type = 11, tiny_type = 10.5, least_type = 8;

/// Returns the width up to which type of that size is readable after a figure is scaled to its
/// --width; infinity without one.
double memory_needs(const FigureChoices& choices, double type);
/// The width of matrices and arcs side by side, unless --width or --columns sets another.
inline constexpr double widest_row = 900;

/// Returns the class for the colour of line number `i`: hues that are distinct in every kind of
/// colour vision.
std::string line_class(std::size_t i);

// Draw one figure each, below the existing ones.
void draw_matrices(Svg& svg, const Document& document, const Section& section,
                   const FigureChoices& choices);
void draw_arcs(Svg& svg, const Document& document, const Section& section,
               const FigureChoices& choices);
void draw_flow(Svg& svg, const Document& document, const FigureChoices& choices);
void draw_tiles(Svg& svg, const Document& document, const Section& section,
                const FigureChoices& choices);

/// True if the section has rows of weights, which can be tiles over a picture.
bool has_tiles(const Section& section);
/// Errors  ConfigError if no shown section has rows of weights, or their keys are not the tiles.
void check_grid(const Document& document, const TileGrid& grid);

/// Draws title, formula and axes of a section, no wider than `room`; returns the y at which the
/// figure may begin. A title that does not fit on a line is the name alone.
double draw_heading(Svg& svg, const Section& section, bool with_words, double room);

/// The matrices of a tensor, numbered over all axes before the last two.
struct Panel {
    std::string caption;  ///< `batch 0, head 1`
    std::size_t offset = 0;
    std::optional<std::size_t> batch;
    std::size_t head = 0;
};
std::vector<Panel> panels_of(const Tensor& tensor, const CellView& view);

}  // namespace attn
