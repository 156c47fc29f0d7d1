#include "app/stepper/layout.hpp"

#include <algorithm>

#include "attn/ground/text/strings.hpp"
#include "attn/show/render/shown.hpp"

namespace app {
namespace {

constexpr std::size_t widest_row_label = 12;
constexpr std::size_t widest_column_label = 8;

/// Returns the first index of a window of `size` with `index` in it, moved as little as possible.
std::size_t window_start(std::size_t start, std::size_t size, std::size_t index,
                         std::size_t length) {
    size = std::max<std::size_t>(size, 1);
    if (index < start) start = index;
    if (index >= start + size) start = index + 1 - size;
    return std::min(start, length > size ? length - size : 0);
}

}  // namespace

void TensorPane::measure(const Session& session) {
    if (view_ && revision_ == session.revision() && step_ == session.section().name) return;
    const bool elsewhere = step_ != session.section().name;
    if (elsewhere) first_row_ = first_column_ = 0;
    revision_ = session.revision();
    section_ = session.section();
    step_ = section_.name;
    tokens_ = {};
    tokens_.query_tokens = session.document().query_tokens;
    tokens_.key_tokens = session.document().key_tokens;
    // Numbers side by side are compared: one form without exponents, unless another is set.
    attn::PrintOptions options = session.options();
    if (options.sci_mode == attn::SciMode::automatic) options.sci_mode = attn::SciMode::off;
    options.precision = static_cast<int>(session.precision());
    view_ = std::make_unique<attn::CellView>(section_, tokens_, options,
                                             attn::Shown(session.tensor()->shape()));
}

std::vector<Line> TensorPane::draw_text(const std::string& text, std::size_t rows) const {
    auto lines = collected(attn::lines_of(text), [](const auto& line) { return Line{{line}}; });
    lines.resize(rows);
    return lines;
}

Line TensorPane::column_labels(std::size_t axis, std::size_t label_width, std::size_t column,
                               std::size_t count) const {
    Line line{{std::string(label_width, ' ')}};
    for (std::size_t i = first_column_; i < end_column_; ++i) {
        // Dots stand for columns that are left out.
        const bool more_before = i == first_column_ && i > 0;
        const bool has_more = i + 1 == end_column_ && end_column_ < count;
        line.push_back({(more_before ? "…" : " ") +
                            attn::fitted(view_->label(axis, i, batch_, head_), cell_width_, true) +
                            (has_more ? "…" : " "),
                        {.dim = i != column}});
    }
    return line;
}

Span TensorPane::cell(const Session& session, std::vector<std::size_t> indices, bool shaded) const {
    const attn::Tensor& tensor = *session.tensor();
    const double value = tensor.at(attn::flat_index(indices, tensor.shape()));
    const bool changed = session.is_changed(indices);
    Span span{" " + attn::fitted(view_->number(value), cell_width_, true) + (changed ? "*" : " ")};
    if (shaded && view_->has_colors())
        span.look.background = attn::terminal_color(view_->share(value), view_->kind());
    span.look.underline = session.is_source(indices);
    span.look.bold = changed;
    if (indices == session.cursor()) {
        span.text.front() = '[';
        span.text.back() = changed ? '*' : ']';
        span.look.reverse = true;
        span.look.background.reset();
    }
    return span;
}

std::vector<Line> TensorPane::draw(const Session& session, std::size_t rows, std::size_t columns,
                                   bool shaded) {
    const attn::Tensor* tensor = session.tensor();
    if (tensor == nullptr) {
        return draw_text(std::get<std::string>(session.section().content), rows);
    }
    if (tensor->size() == 0) return draw_text("there are no cells", rows);
    measure(session);

    // Move the window so that the cell is in it.
    const attn::Shape shape = tensor->shape();
    std::vector<std::size_t> indices = session.cursor();
    const std::size_t axes = shape.size();
    const std::size_t row_count = axes > 1 ? shape[axes - 2] : 1;
    const std::size_t column_count = axes > 0 ? shape[axes - 1] : 1;
    const std::size_t row = axes > 1 ? indices[axes - 2] : 0;
    const std::size_t column = axes > 0 ? indices[axes - 1] : 0;
    visible_rows_ = rows > 1 ? rows - 1 : 1;
    first_row_ = window_start(first_row_, visible_rows_, row, row_count);
    end_row_ = std::min(row_count, first_row_ + visible_rows_);
    batch_ = tensor->has_axis("batch") ? indices[tensor->axis("batch")]
                                       : view_->picked_sequence().value_or(0);
    head_ = tensor->has_axis("head") ? indices[tensor->axis("head")] : 0;

    // Measure the labels that are visible, and count the columns that fit.
    std::size_t label_width = 0;
    for (std::size_t r = first_row_; axes > 1 && r < end_row_; ++r) {
        label_width =
            std::max(label_width, attn::display_width(view_->label(axes - 2, r, batch_, head_)));
    }
    label_width = std::min(label_width, widest_row_label) + (axes > 1 ? 1 : 0);
    cell_width_ = view_->width();
    const std::size_t most = std::max<std::size_t>(1, columns / (view_->width() + 2));
    for (std::size_t c = first_column_;
         axes > 0 && c < std::min(column_count, first_column_ + most); ++c) {
        const std::size_t width = attn::display_width(view_->label(axes - 1, c, batch_, head_));
        cell_width_ = std::max(cell_width_, std::min(width, widest_column_label));
    }
    const std::size_t room = columns > label_width ? columns - label_width : 1;
    const std::size_t fitting = std::max<std::size_t>(1, room / (cell_width_ + 2));
    first_column_ = window_start(first_column_, fitting, column, column_count);
    end_column_ = std::min(column_count, first_column_ + fitting);

    // Draw the labels and the rows.
    std::vector<Line> lines;
    lines.push_back(axes > 0 ? column_labels(axes - 1, label_width, column, column_count) : Line{});
    for (std::size_t r = first_row_; r < end_row_ && lines.size() < rows; ++r) {
        Line line;
        if (axes > 1) {
            indices[axes - 2] = r;
            line.push_back(
                {attn::fitted(view_->label(axes - 2, r, batch_, head_), label_width, false),
                 {.dim = r != row}});
        }
        for (std::size_t c = first_column_; c < end_column_; ++c) {
            if (axes > 0) indices[axes - 1] = c;
            line.push_back(cell(session, indices, shaded));
        }
        lines.push_back(std::move(line));
    }
    lines.resize(rows);
    return lines;
}

std::string TensorPane::caption(const Session& session) const {
    const attn::Tensor* tensor = session.tensor();
    if (tensor == nullptr) return {};
    const attn::Shape shape = tensor->shape();
    if (shape.empty()) return "one number";
    const std::vector<std::size_t> indices = session.cursor();
    std::string text;
    for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) {
        text += (text.empty() ? "" : ", ") + tensor->axes()[axis] + " " +
                std::to_string(indices[axis]) + " (of 0-" + std::to_string(shape[axis] - 1) + ")";
    }
    text += text.empty() ? "" : "; ";
    const auto described = [&](std::size_t axis, std::size_t first, std::size_t end) {
        const std::string length = std::to_string(shape[axis]);
        const bool cut = end > first && end - first < shape[axis];
        return tensor->axes()[axis] + " " +
               (cut ? std::to_string(first) + "-" + std::to_string(end - 1) + " of " + length
                    : length);
    };
    const std::size_t last = shape.size() - 1;
    if (last > 0) text += "rows " + described(last - 1, first_row_, end_row_) + ", ";
    return text + "columns " + described(last, first_column_, end_column_) + ", " +
           std::string(attn::dtype_name(tensor->dtype()));
}

}  // namespace app
