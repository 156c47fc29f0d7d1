#include <algorithm>

#include <fmt/format.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// The darkness of a tile without weight.
constexpr double darkest = 0.8;

/// Returns the query whose row is drawn: that of a slice, or of the cell at which a page opens,
/// else the first, which is that of a class token.
std::size_t drawn_query(const Section& section) {
    const auto& part = section.part;
    return part.size() < 2 ? 0 : static_cast<std::size_t>(part[part.size() - 2].first);
}

/// Returns the row of that query of each sequence and head.
std::vector<Panel> rows_of(const Tensor& weights, const CellView& view) {
    const Shape shape = weights.shape();
    std::size_t outer = shape.size() - 1, inside = shape.back();
    if (weights.has_axis("query")) inside *= shape[outer -= 1];
    std::vector<Panel> rows;
    for (std::size_t offset = 0; offset < weights.size(); offset += inside) {
        Panel row{"", offset, view.picked_sequence()};
        std::size_t rest = offset / inside;
        for (std::size_t axis = outer; axis-- > 0; rest /= shape[axis]) {
            const std::size_t i = view.whole_index(axis, rest % shape[axis]);
            row.caption = weights.axes()[axis] + " " + std::to_string(i) + ", " + row.caption;
            if (weights.axes()[axis] == "batch") row.batch = i;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

bool has_tiles(const Section& section) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    return tensor != nullptr && section.name == "weights" && tensor->dimension() > 0 &&
           tensor->axes().back() == "key" && tensor->size() > 0;
}

void check_grid(const Document& document, const TileGrid& grid) {
    const std::size_t tiles = grid.rows * grid.columns;
    bool has_rows = false;
    for (const Section& section : document.sections) {
        if (!section.shown || !has_tiles(section)) continue;
        has_rows = true;
        const std::size_t keys = std::get<Tensor>(section.content).shape().back();
        if (keys == tiles || keys == tiles + 1) continue;
        throw ConfigError("$grid "_message +
                          fmt::format("{}x{} is {} tiles, but a row of weights has {} keys: each "
                                      "key is a tile, except for one class token before them",
                                      grid.rows, grid.columns, tiles, keys));
    }
    if (has_rows) return;
    throw ConfigError(
        "$grid draws rows of weights over an image, and no step shown has them: keep weights "
        "among the steps"_message);
}

void draw_tiles(Svg& svg, const Document& document, const Section& section,
                const FigureChoices& choices) {
    const TileGrid& grid = *choices.grid;
    const Tensor& weights = std::get<Tensor>(section.content);
    const CellView view(section, document, choices.options, Shown(weights.shape()), ScaleEnd::row);
    const std::vector<Panel> panels = rows_of(weights, view);
    const Shape shape = weights.shape();
    const std::size_t keys = shape.back();
    const std::size_t tiles = grid.rows * grid.columns;
    const std::size_t first = keys - tiles;

    // Choose the size of the pictures.
    constexpr double gap = 18, margin = 16, caption = 22;
    const double room = std::min(widest_row, memory_needs(choices, small_type)) - 2 * margin;
    const std::size_t in_row = std::min(panels.size(), choices.columns > 0 ? choices.columns : 4);
    const auto count = static_cast<double>(in_row);
    const double width = std::clamp((room + gap) / count - gap, 40.0, 320.0);
    const double tile = width / static_cast<double>(grid.columns);
    const double height = tile * static_cast<double>(grid.rows);
    const double used = count * (width + gap) - gap;

    double y = draw_heading(svg, section, choices.with_words, used);
    if (!grid.picture.empty()) {
        svg.add(
            "<defs><image id=\"picture\" width=\"1\" height=\"1\" "
            "preserveAspectRatio=\"none\" href=\"" +
            grid.picture + "\"/></defs>\n");
    }
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const double x = margin + (width + gap) * static_cast<double>(i % in_row);
        if (i > 0 && i % in_row == 0) y += height + caption + gap;
        const std::size_t row = panels[i].offset;
        std::string words = panels[i].caption + "query " + std::to_string(drawn_query(section));
        if (first > 0) words += ", class " + view.number(weights.at(row));
        svg.text({.x = x, .y = y + 8, .style = "small"}, words);
        const double top = y + caption - 6;
        // A tile has size 1, so that neighbours share their edge.
        svg.add(fmt::format(
            "<g transform=\"translate({} {}) scale({:.6g})\" shape-rendering=\"crispEdges\">\n",
            px(x), px(top), tile));
        svg.add(fmt::format("<{} transform=\"scale({} {})\"/>\n",
                            grid.picture.empty() ? "rect width=\"1\" height=\"1\" fill=\"#fff\""
                                                 : "use href=\"#picture\"",
                            grid.columns, grid.rows));
        for (std::size_t t = 0; t < tiles; ++t) {
            const std::size_t flat = row + first + t;
            const std::string key = view.label(shape.size() - 1, first + t, panels[i].batch);
            svg.add(
                fmt::format("<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" "
                            "opacity=\"{:.2f}\"><title>key {} = {}</title></rect>\n",
                            t % grid.columns, t / grid.columns, darkest * (1 - view.share_at(flat)),
                            xml_text(key), scalar_text(weights, flat)));
        }
        svg.add("</g>\n");
        svg.reach(x + width, top + height);
    }
    constexpr std::string_view scale = "dark: 0; clear: the largest weight of the row";
    svg.text({.x = margin, .y = svg.bottom() + 18, .style = "small soft"}, scale);
    svg.reach(margin + text_width(scale, small_type), svg.bottom() + 18);
}

}  // namespace attn
