#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "attn/ground/text/number_text.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// Larger figures have no digits.
constexpr std::size_t most_written_cells = 1024;
constexpr double page_margin = 16, between_matrices = 18;

/// Formats a number as in JSON.
std::string shortest(const Tensor& tensor, std::size_t flat) {
    if (tensor.dtype() == DType::boolean) return tensor.at(flat) != 0 ? "true" : "false";
    if (is_16_bit(tensor.dtype())) return scalar_text(static_cast<float>(tensor.at(flat)));
    return scalar_text(tensor, flat);
}

/// Draws the matrices of one tensor side by side.
class Matrices {
public:
    Matrices(Svg& svg, const Document& document, const Section& section,
             const FigureChoices& choices)
        : svg_(svg),
          section_(section),
          tensor_(std::get<Tensor>(section.content)),
          view_(section, document, choices.options, Shown(tensor_.shape()),
                scale_end(section, choices.end)),
          shape_(tensor_.shape()),
          panels_(panels_of(tensor_, view_)),
          with_numbers_(choices.with_numbers) {
        const std::size_t dimension = shape_.size();
        columns_ = dimension == 0 ? 1 : shape_.back();
        rows_ = dimension < 2 ? 1 : shape_[dimension - 2];
        measure_labels();
        choose_cells(choices);
    }

    /// Returns the width of the cells of a row of matrices and of the labels on their left.
    double width() const {
        return left_ - page_margin +
               static_cast<double>(in_row_) * (panel_width() + between_matrices) - between_matrices;
    }

    void draw(double top) {
        const double panel_height = height_ * static_cast<double>(rows_);
        double x = left_;
        double y = top;
        std::size_t in_row = 0;
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            const bool new_batch = i > 0 && panels_[i].batch != panels_[i - 1].batch;
            if (new_batch || in_row == in_row_) {
                in_row = 0;
                x = left_;
                y += label_height() + panel_height + 16;
            }
            const double cells = y + label_height();
            if (!panels_[i].caption.empty()) {
                svg_.text({.x = x, .y = y + 8, .style = "small"}, panels_[i].caption);
            }
            label_columns(panels_[i], x, cells);
            if (in_row == 0) label_rows(panels_[i], x, cells);
            svg_.add(fmt::format("<g transform=\"translate({} {})\"{}>\n", px(x), px(cells),
                                 written_ ? " class=\"digits cells\" text-anchor=\"middle\""
                                          : " shape-rendering=\"crispEdges\""));
            svg_.add(written_ ? written_cells(panels_[i]) : shaded_runs(panels_[i]));
            svg_.add("</g>\n");
            svg_.reach(x + panel_width(), cells + panel_height);
            x += panel_width() + between_matrices;
            ++in_row;
        }
        if (view_.has_colors()) legend(page_margin, svg_.bottom() + 18);
    }

private:
    std::string row_axis() const {
        return shape_.size() < 2 ? "" : tensor_.axes()[shape_.size() - 2];
    }

    double panel_width() const { return width_ * static_cast<double>(columns_); }

    void measure_labels() {
        for (const Panel& panel : panels_) {
            for (std::size_t r = 0; r < rows_ && !row_axis().empty(); ++r) {
                row_labels_ = std::max(row_labels_, text_width(label(shape_.size() - 2, r, panel)));
            }
            for (std::size_t c = 0; c < columns_ && !shape_.empty(); ++c) {
                const double wide = text_width(label(shape_.size() - 1, c, panel), 12);
                column_labels_ = std::max(column_labels_, wide);
            }
        }
        left_ = page_margin + (row_axis().empty() ? 0 : 18) + row_labels_ + 8;
    }

    /// Chooses the size of cells, and how many matrices are side by side. Digits that would be too
    /// small to read are left out.
    void choose_cells(const FigureChoices& choices) {
        written_ = tensor_.size() <= most_written_cells && columns_ <= 24;
        const double digits = std::max(34.0, 7.3 * static_cast<double>(view_.width()) + 10);
        const bool slants = column_labels_ > (written_ ? 24 : 12);
        const double slanted = slants ? 0.72 * column_labels_ + 8 : 0;
        const double beside = left_ + page_margin + slanted;
        const auto wide = static_cast<double>(columns_);
        const bool fits = digits * wide + beside <= memory_needs(choices, digit_type);
        with_numbers_ = with_numbers_ && written_ && fits;
        const double room = std::min(widest_row, memory_needs(choices, small_type)) - beside;
        const auto in_batch = [&](const Panel& panel) {
            return panel.batch == panels_.front().batch;
        };
        const auto matrices = static_cast<std::size_t>(std::ranges::count_if(panels_, in_batch));
        std::size_t in_row = std::min(matrices, choices.columns > 0 ? choices.columns : 4);
        const auto cell = [&] {
            const auto count = static_cast<double>(in_row);
            return ((room + between_matrices) / count - between_matrices) / wide;
        };
        // Small tensors have room for larger cells.
        const double smallest = written_ ? 12 : 1.25;
        while (choices.columns == 0 && in_row > 1 && cell() < smallest) --in_row;
        width_ = with_numbers_ ? digits : std::clamp(cell(), smallest, written_ ? 26.0 : 14.0);
        height_ = with_numbers_ ? 26 : width_;
        const auto fit = static_cast<std::size_t>(std::max(0.0, room + between_matrices) /
                                                  (panel_width() + between_matrices));
        if (choices.columns == 0) in_row = with_numbers_ ? fit : std::max(in_row, fit);
        in_row_ = std::clamp<std::size_t>(in_row, 1, matrices);
    }

    bool turned() const { return column_labels_ > width_ - 2; }

    /// Returns the height above the cells: the caption, the name of the axis, the labels.
    double label_height() const {
        const double labels = shape_.empty() ? 0 : turned() ? 0.72 * column_labels_ + 14 : 18;
        // The caption is next to the name of the axis if there is space.
        const bool beside = width_ * static_cast<double>(columns_) > 200;
        return (panels_.front().caption.empty() || beside ? 0 : 16) + (shape_.empty() ? 0 : 16) +
               labels;
    }

    std::string label(std::size_t axis, std::size_t i, const Panel& panel) const {
        return view_.label(axis, i, panel.batch, panel.head);
    }

    /// Returns the distance of labels: all of them if they fit, fewer for narrow cells.
    static std::size_t every(double cell_size, double label_size) {
        return static_cast<std::size_t>(std::max(1.0, std::ceil(label_size / cell_size)));
    }

    void label_columns(const Panel& panel, double x, double y) {
        if (shape_.empty()) return;
        const double labels = turned() ? 0.72 * column_labels_ + 14 : 18;
        svg_.text({.x = x + width_ * static_cast<double>(columns_) / 2,
                   .y = y - labels - 2,
                   .anchor = "middle",
                   .style = "small soft"},
                  tensor_.axes().back());
        // Slanted lines of type are 0.7 times as far apart as their columns.
        const std::size_t step = every(width_, turned() ? 18 : small_type);
        for (std::size_t c = 0; c < columns_; c += step) {
            const double middle = x + width_ * (static_cast<double>(c) + 0.5);
            const std::string words = label(shape_.size() - 1, c, panel);
            if (turned()) {
                svg_.text({.x = middle + 3, .y = y - 5, .style = "small", .turned = -45}, words);
                svg_.reach(middle + 0.72 * text_width(words, 11) + 8, y);
            } else {
                svg_.text({.x = middle, .y = y - 6, .anchor = "middle", .style = "small"}, words);
            }
        }
    }

    void label_rows(const Panel& panel, double x, double y) {
        if (row_axis().empty()) return;
        const double middle = y + height_ * static_cast<double>(rows_) / 2;
        svg_.text({.x = 26, .y = middle, .anchor = "middle", .style = "small soft", .turned = -90},
                  row_axis());
        for (std::size_t r = 0; r < rows_; r += every(height_, small_type)) {
            svg_.text({.x = x - 6,
                       .y = y + height_ * (static_cast<double>(r) + 0.5) + 4,
                       .anchor = "end",
                       .style = "small"},
                      label(shape_.size() - 2, r, panel));
        }
    }

    std::string written_cells(const Panel& panel) const {
        std::string text;
        for (std::size_t i = 0; i < rows_ * columns_; ++i) {
            const std::size_t flat = panel.offset + i;
            const double x = width_ * static_cast<double>(i % columns_);
            const double y = height_ * static_cast<double>(i / columns_);
            const std::string name = cell_name(flat);
            // For viewers that ignore style sheets, which would show black on black.
            const Color color = scale_color(view_.share_at(flat), view_.kind(), Page::light);
            const bool plain = !view_.has_colors() || view_.hides(flat);
            const std::string fill = plain ? "#f7f7f7" : hex(color);
            const std::string ink = plain ? "#000000" : hex(readable_on(color));
            text += fmt::format(
                "<g class=\"{}\" data-cell=\"{}\"><title>{} = {}</title><rect fill=\"{}\" x=\"{}\" "
                "y=\"{}\" width=\"{}\" height=\"{}\"/>{}</g>\n",
                view_.has_colors() ? view_.class_at(flat) : "plain", name, name,
                shortest(tensor_, flat), fill, px(x), px(y), px(width_ - 1), px(height_ - 1),
                with_numbers_ ? fmt::format("<text fill=\"{}\" x=\"{}\" y=\"{}\">{}</text>", ink,
                                            px(x + width_ / 2), px(y + height_ / 2 + 4),
                                            view_.number(tensor_.at(flat)))
                              : "");
        }
        return text;
    }

    /// Returns the address of a cell in the whole tensor: `weights[0,1]`.
    std::string cell_name(std::size_t flat) const {
        std::string indices;
        for (std::size_t axis = shape_.size(); axis-- > 0; flat /= shape_[axis]) {
            indices = std::to_string(view_.whole_index(axis, flat % shape_[axis])) +
                      (indices.empty() ? "" : "," + indices);
        }
        return xml_text(section_.name + "[" + indices + "]");
    }

    /// Returns one path per colour: strokes as wide as a cell, with adjacent cells of one colour
    /// joined.
    std::string shaded_runs(const Panel& panel) const {
        struct Path {
            std::string d;
            std::size_t row = 0, column = 0;
        };
        std::map<std::string, Path> paths;
        const auto level = [&](std::size_t i) { return view_.class_at(panel.offset + i); };
        const auto distance = [](std::size_t to, std::size_t from) {
            return static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(from);
        };
        for (std::size_t r = 0; r < rows_; ++r) {
            for (std::size_t c = 0; c < columns_;) {
                const std::string color = level(r * columns_ + c);
                std::size_t end = c + 1;
                while (end < columns_ && level(r * columns_ + end) == color) ++end;
                Path& path = paths[color];
                path.d += fmt::format("m{} {}h{}", distance(c, path.column), distance(r, path.row),
                                      end - c);
                path.row = r;
                path.column = end;
                c = end;
            }
        }
        std::string text = fmt::format("<g transform=\"scale({} {}) translate(0 .5)\">\n",
                                       px(width_), px(height_));
        for (const auto& [color, path] : paths) {
            text += "<path class=\"" + color + " run\" d=\"" + path.d + "\"/>\n";
            const char* const mark = color == "nan" ? "cross" : color == "hid" ? "hatch" : nullptr;
            if (mark == nullptr) continue;
            text += fmt::format("<path stroke=\"url(#{})\" d=\"{}\"/>\n", mark, path.d);
        }
        return text + "</g>\n";
    }

    void legend(double x, double y) {
        constexpr int steps = 20;
        constexpr double step = 8;
        const double low = view_.kind() == ScaleKind::from_zero ? 0 : -1;
        svg_.text({.x = x, .y = y + 10, .style = "small"}, view_.low_end());
        x += text_width(view_.low_end(), 11) + 6;
        std::string bar = "<g class=\"bar\" shape-rendering=\"crispEdges\">";
        for (int i = 0; i <= steps; ++i) {
            bar += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\"/>",
                               scale_class(low + (1 - low) * i / steps, view_.kind()),
                               px(x + step * i), px(y), px(step));
        }
        svg_.add(bar + "</g>\n");
        x += step * (steps + 1) + 6;
        svg_.text({.x = x, .y = y + 10, .style = "small"}, view_.high_end());
        x += text_width(view_.high_end(), 11) + 18;
        if (view_.has_non_finite()) {
            for (const auto& [name, share] :
                 {std::pair{"-inf", -std::numeric_limits<double>::infinity()},
                  std::pair{"inf", std::numeric_limits<double>::infinity()},
                  std::pair{"nan", std::numeric_limits<double>::quiet_NaN()}}) {
                svg_.add(fmt::format(
                    "<g class=\"cells\"><g class=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"32\" "
                    "height=\"14\"/><text class=\"small\" x=\"{}\" y=\"{}\" "
                    "text-anchor=\"middle\">{}</text></g></g>\n",
                    share < 0 && view_.can_hide() ? "hid" : scale_class(share, view_.kind()), px(x),
                    px(y - 1), px(x + 16), px(y + 10), name));
                x += 36;
            }
        }
        svg_.reach(x, y + 14);
    }

    Svg& svg_;
    const Section& section_;
    const Tensor& tensor_;
    CellView view_;
    Shape shape_;
    std::vector<Panel> panels_;
    bool with_numbers_;
    std::size_t rows_ = 1;
    std::size_t columns_ = 1;
    bool written_ = true;
    double width_ = 0;
    double height_ = 0;
    double row_labels_ = 0;
    double column_labels_ = 0;
    double left_ = 0;
    std::size_t in_row_ = 1;
};

/// Draws the text of a notebook's cell without a tensor.
void draw_text(Svg& svg, const std::string& text, double y) {
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        svg.text({.x = 16, .y = y + 8, .style = "formula"}, line);
        svg.reach(16 + text_width(line, 13), y + 8);
        y += 17;
        begin = end + 1;
    }
}

}  // namespace

void draw_matrices(Svg& svg, const Document& document, const Section& section,
                   const FigureChoices& choices) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    if (tensor == nullptr || tensor->size() == 0) {
        const double y = draw_heading(svg, section, choices.with_words, widest_row);
        draw_text(svg, tensor == nullptr ? std::get<std::string>(section.content) : "[]", y);
        return;
    }
    Matrices matrices(svg, document, section, choices);
    matrices.draw(draw_heading(svg, section, choices.with_words, matrices.width()));
}

}  // namespace attn
