#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// More lines are a grey cloud, and a large file.
constexpr std::size_t most_lines = 1500;
constexpr double pitch = 26;
constexpr double thickest = 9;

/// The smallest weight that is drawn: 0 where all are.
double least_drawn(const Tensor& weights) {
    std::vector<double> values;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights.at(i) > 0) values.push_back(weights.at(i));
    }
    if (values.size() <= most_lines) return 0;
    const auto place = values.begin() + most_lines;
    std::nth_element(values.begin(), place, values.end(), std::greater<>());
    return *place;
}

}  // namespace

void draw_arcs(Svg& svg, const Document& document, const Section& section,
               const FigureChoices& choices) {
    const Tensor& weights = std::get<Tensor>(section.content);
    const CellView view(section, document, choices.options, Shown(weights.shape()), choices.end);
    const std::size_t last = weights.dimension() - 1;
    const std::size_t keys = weights.shape()[last];
    const std::size_t queries = weights.shape()[last - 1];
    double top = draw_heading(svg, section, choices.with_words);
    const double least = least_drawn(weights);
    if (least > 0) {
        svg.text({.x = 16, .y = top + 6, .style = "small soft"},
                 fmt::format("lines for weights above {:.4f}", least));
        top += 18;
    }

    const std::vector<Panel> panels = panels_of(weights, view);
    double labels = text_width("query", 11);
    for (const Panel& panel : panels) {
        for (std::size_t q = 0; q < queries; ++q) {
            labels = std::max(labels, text_width(view.label(last - 1, q, panel.batch)));
        }
        for (std::size_t k = 0; k < keys; ++k) {
            labels = std::max(labels, text_width(view.label(last, k, panel.batch)));
        }
    }
    const double between = 150;
    const double width = 2 * labels + between + 40;
    const double height = pitch * static_cast<double>(std::max(queries, keys)) + 34;
    const auto per_row = static_cast<std::size_t>(std::max(1.0, std::floor(900 / width)));
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const Panel& panel = panels[i];
        const double x = 16 + width * static_cast<double>(i % per_row);
        const double y = top + height * static_cast<double>(i / per_row);
        const double left = x + labels + 6;
        const double right = left + between;
        if (!panel.caption.empty()) svg.text({.x = x, .y = y + 4, .style = "small"}, panel.caption);
        svg.text({.x = left, .y = y + 20, .anchor = "end", .style = "small soft"}, "query");
        svg.text({.x = right, .y = y + 20, .style = "small soft"}, "key");
        const auto height_of = [&](std::size_t position) {
            return y + 38 + pitch * static_cast<double>(position);
        };
        svg.add(fmt::format("<g class=\"{}\" fill=\"none\">\n", line_class(panel.head)));
        for (std::size_t q = 0; q < queries; ++q) {
            for (std::size_t k = 0; k < keys; ++k) {
                const double weight = weights.at(panel.offset + q * keys + k);
                if (!(weight > least)) continue;
                const double bend = between / 2;
                svg.add(fmt::format(
                    "<path d=\"M{} {}c{} 0 {} {} {} {}\" stroke-width=\"{:.2g}\" "
                    "opacity=\"{:.2g}\"/>\n",
                    px(left + 4), px(height_of(q)), px(bend), px(between - 8 - bend),
                    px(height_of(k) - height_of(q)), px(between - 8),
                    px(height_of(k) - height_of(q)), thickest * weight, 0.35 + 0.65 * weight));
            }
        }
        svg.add("</g>\n");
        for (std::size_t q = 0; q < queries; ++q) {
            const bool undefined = std::isnan(weights.at(panel.offset + q * keys));
            svg.text({.x = left, .y = height_of(q) + 4, .anchor = "end"},
                     view.label(last - 1, q, panel.batch) + (undefined ? " (nan)" : ""));
        }
        for (std::size_t k = 0; k < keys; ++k) {
            svg.text({.x = right, .y = height_of(k) + 4}, view.label(last, k, panel.batch));
        }
        svg.reach(right + labels, y + height - 12);
    }
    // The scale: how thick a weight of 1 and of a quarter are.
    const double y = svg.bottom() + 14;
    double x = 16;
    for (const double weight : {0.1, 0.25, 0.5, 1.0}) {
        svg.add(fmt::format("<path class=\"rule\" d=\"M{} {}h30\" stroke-width=\"{:.2g}\"/>\n",
                            px(x), px(y), thickest * weight));
        svg.text({.x = x + 36, .y = y + 4, .style = "small"}, fmt::format("{}", weight));
        x += 80;
    }
    svg.reach(x, y + 8);
}

}  // namespace attn
