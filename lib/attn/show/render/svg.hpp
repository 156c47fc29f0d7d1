#pragma once
#include <string>
#include <string_view>

#include "attn/show/render/figures.hpp"

namespace attn {

/// Foreign text for XML and HTML, in content and attributes: `<`, `>`, `&` and quotes are escaped,
/// controls and bidi controls written out.
std::string xml_text(std::string_view text);

/// A length or coordinate in pixels, to a tenth.
std::string px(double length);

/// Where a text is, and how it is set.
struct TextAt {
    double x = 0;
    double y = 0;
    const char* anchor = "start";  ///< or `middle`, `end`: of what `x` is
    const char* style = "";        ///< a class of the style sheet
    double turned = 0;             ///< degrees
};

/// A picture that grows downwards.
class Svg {
public:
    /// `width` in pixels is what the whole picture is scaled to; 0 leaves it as it is drawn.
    explicit Svg(Theme theme, double width = 0) : theme_(theme), width_(width) {}

    void text(const TextAt& place, std::string_view words);
    /// Text of that size in lines of at most `columns` letters; gives the y of a line below.
    double paragraph(TextAt place, std::string_view words, std::size_t columns, double size);
    /// Elements as they are written.
    void add(std::string_view elements) { body_ += elements; }
    /// Makes sure that the picture reaches this far.
    void reach(double x, double y);
    double bottom() const { return bottom_; }

    /// The whole file, `title` being what a screen reader says first.
    /// `words` describe it to those who do not see it.
    std::string finish(std::string_view title, std::string_view words = {},
                       std::string_view command = {}) const;

private:
    Theme theme_;
    double width_;
    std::string body_;
    double right_ = 0;
    double bottom_ = 0;
};

/// The width of a text in pixels, nearly: letters of a sans-serif at `size`.
double text_width(std::string_view text, double size = 13);

/// The colour of line number `i`, as a class: hues that every kind of colour vision tells apart.
std::string line_class(std::size_t i);

// One figure each, drawn below what is there.
void draw_matrices(Svg& svg, const Document& document, const Section& section,
                   const FigureChoices& choices);
void draw_arcs(Svg& svg, const Document& document, const Section& section,
               const FigureChoices& choices);
void draw_flow(Svg& svg, const Document& document, const FigureChoices& choices);

/// Title, formula and axes of a section; gives where the figure may begin.
double draw_heading(Svg& svg, const Section& section, bool with_words);

/// The matrices of a tensor: what is before the last two axes, counted through.
struct Panel {
    std::string caption;  ///< `batch 0, head 1`
    std::size_t offset = 0;
    std::optional<std::size_t> batch;
    std::size_t head = 0;
};
std::vector<Panel> panels_of(const Tensor& tensor, const CellView& view);

}  // namespace attn
