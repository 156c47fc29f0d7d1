#include "app/terminal/terminal.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "attn/ground/text/strings.hpp"
#include "attn/show/render/cell_view.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/shown.hpp"

namespace app {
namespace {

using attn::Section;
using attn::Tensor;

attn::Color shade(const attn::CellView& view, double share) {
    return attn::terminal_color(share, view.kind());
}

}  // namespace

std::string scale_legend(const attn::CellView& view, ColorDepth depth) {
    constexpr int steps = 16;
    const double low = view.kind() == attn::ScaleKind::from_zero ? 0 : -1;
    std::string line = view.low_end() + " ";
    for (int i = 0; i <= steps; ++i) {
        line += colored("  ", shade(view, low + (1 - low) * i / steps), depth);
    }
    line += " " + view.high_end();
    if (!view.has_non_finite()) return line;
    return line + "   " + colored(" -inf ", shade(view, -INFINITY), depth) +
           colored(" inf ", shade(view, INFINITY), depth) +
           colored(" nan ", shade(view, NAN), depth);
}

namespace {

/// Draws one tensor.
class Grid {
public:
    Grid(const Section& section, const attn::Document& document, const Tensor& tensor,
         const HeatmapChoices& choices)
        : tensor_(tensor),
          choices_(choices),
          shown_(tensor.shape(), attn::settings_for(choices.options, attn::torch_defaults)),
          view_(section, document, choices.options, shown_, choices.end),
          batch_(view_.picked_sequence()) {}

    std::string text() {
        draw_axis(0, 0);
        if (is_shaded()) text_ += scale_legend(view_, choices_.depth) + "\n";
        text_.erase(text_.find_last_not_of('\n') + 1);
        return std::move(text_);
    }

private:
    bool is_shaded() const { return choices_.depth != ColorDepth::none && view_.has_colors(); }

    std::string label(std::size_t axis, std::size_t i) const {
        return view_.label(axis, i, batch_, head_);
    }

    /// Draws the matrix (or row, or cell) at each index of the leading axes.
    void draw_axis(std::size_t axis, std::size_t offset) {
        if (axis + 2 >= tensor_.dimension()) {
            draw_matrix(offset);
            return;
        }
        const std::string caption = caption_;
        for (const std::optional<std::size_t>& i : shown_.axis(axis).places()) {
            if (!i) {
                text_ += "…\n\n";
                continue;
            }
            const std::size_t place = view_.whole_index(axis, *i);
            caption_ = caption + (caption.empty() ? "" : ", ") + tensor_.axes()[axis] + " " +
                       std::to_string(place);
            if (tensor_.axes()[axis] == "batch") batch_ = place;
            if (tensor_.axes()[axis] == "head") head_ = place;
            draw_axis(axis + 1, offset + *i * shown_.axis(axis).stride);
        }
        caption_ = caption;
    }

    void draw_matrix(std::size_t offset) {
        const std::size_t dimension = tensor_.dimension();
        if (!caption_.empty()) text_ += caption_ + "\n";
        if (dimension == 0) {
            text_ += cell(offset);
            text_.erase(text_.find_last_not_of(' ') + 1);
            text_ += "\n";
            return;
        }
        // Measure the labels: rows have room for most words, columns the width of a number.
        constexpr std::size_t widest_label = 16;
        const std::size_t last = dimension - 1;
        const bool has_rows = dimension > 1;
        const auto rows = has_rows ? shown_.axis(last - 1).places()
                                   : std::vector<std::optional<std::size_t>>{std::size_t{0}};
        const auto columns = shown_.axis(last).places();
        std::size_t label_width = 0;
        for (const auto& row : rows) {
            if (!has_rows || !row) continue;
            label_width = std::max(label_width, attn::display_width(label(last - 1, *row)));
        }
        label_width = std::min(label_width, widest_label);
        std::size_t width = view_.width();
        for (const auto& column : columns) {
            if (!column) continue;
            width = std::max(width,
                             std::min<std::size_t>(8, attn::display_width(label(last, *column))));
        }
        width_ = width;

        // Draw blocks with as many columns as fit.
        const std::size_t room =
            choices_.columns > label_width + 1 ? choices_.columns - label_width : 1;
        const std::size_t per_block = std::max<std::size_t>(1, room / (width + 2));
        for (std::size_t begin = 0; begin < columns.size(); begin += per_block) {
            const std::size_t end = std::min(columns.size(), begin + per_block);
            text_ += std::string(label_width, ' ');
            for (std::size_t c = begin; c < end; ++c) {
                text_ += heading(columns[c], last);
            }
            text_.erase(text_.find_last_not_of(' ') + 1);
            text_ += "\n";
            for (const auto& row : rows) {
                draw_row(row, has_rows, columns, begin, end, label_width, offset);
            }
        }
        if (dimension > 2) text_ += "\n";
    }

    void draw_row(std::optional<std::size_t> row, bool has_rows,
                  const std::vector<std::optional<std::size_t>>& columns, std::size_t begin,
                  std::size_t end, std::size_t label_width, std::size_t offset) {
        const std::size_t last = tensor_.dimension() - 1;
        if (!row) {
            text_ += "…\n";
            return;
        }
        if (has_rows) {
            text_ += attn::fitted(label(last - 1, *row), label_width, false);
            offset += *row * shown_.axis(last - 1).stride;
        }
        for (std::size_t c = begin; c < end; ++c) {
            text_ += columns[c] ? cell(offset + *columns[c]) : heading(columns[c], last);
        }
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_ += "\n";
    }

    std::string heading(const std::optional<std::size_t>& column, std::size_t axis) const {
        return " " + attn::fitted(column ? label(axis, *column) : "…", width_, true) + " ";
    }

    std::string cell(std::size_t flat) const {
        const double value = tensor_.at(flat);
        const double share = view_.share_at(flat);
        const std::size_t width = std::max(width_, view_.width());
        const std::string text = " " + attn::fitted(view_.number(value), width, true) + " ";
        return is_shaded() ? colored(text, shade(view_, share), choices_.depth) : text;
    }

    const Tensor& tensor_;
    const HeatmapChoices& choices_;
    attn::Shown shown_;
    attn::CellView view_;
    std::size_t width_ = 1;
    std::optional<std::size_t> batch_;
    std::size_t head_ = 0;
    std::string caption_;
    std::string text_;
};

}  // namespace

std::string heatmap_text(const Section& section, const attn::Document& document,
                         const HeatmapChoices& choices) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    if (tensor == nullptr || tensor->size() == 0) {
        return attn::content_text(section, attn::TextForm::torch, choices.options);
    }
    // Integers are names: only their digits distinguish them.
    const bool is_compact = choices.compact && tensor->dtype() != attn::DType::int64;
    return is_compact ? compact_heatmap(section, document, *tensor, choices)
                      : Grid(section, document, *tensor, choices).text();
}

}  // namespace app
