#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// More lines would be a grey cloud, and a large file.
constexpr std::size_t most_lines = 1500;
constexpr double pitch = 26;
constexpr double thickest = 9;

/// Returns the smallest weight to draw: 0 if all are drawn.
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

/// A panel of lines: queries on the left, keys on the right.
class Arcs {
public:
    Arcs(Svg& svg, const Tensor& weights, const CellView& view)
        : svg_(svg),
          weights_(weights),
          view_(view),
          keys_(weights.shape().back()),
          queries_(weights.shape()[last_key() - 1]),
          least_(least_drawn(weights)),
          panels_(panels_of(weights, view)),
          labels_(label_width()) {}

    void draw(double top) {
        if (least_ > 0) {
            svg_.text({.x = 16, .y = top + 6, .style = "small soft"},
                      fmt::format("lines for weights above {:.4f}", least_));
            top += 18;
        }
        const double width = 2 * labels_ + between + 40;
        const double height = pitch * static_cast<double>(std::max(queries_, keys_)) + 34;
        const auto per_row = static_cast<std::size_t>(std::max(1.0, std::floor(900 / width)));
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            const double y = top + height * static_cast<double>(i / per_row);
            draw_panel(panels_[i], 16 + width * static_cast<double>(i % per_row), y);
            svg_.reach(0, y + height - 12);
        }
        draw_scale();
    }

private:
    static constexpr double between = 150;

    std::size_t last_key() const { return weights_.dimension() - 1; }
    std::string query_label(std::size_t q, const Panel& panel) const {
        return view_.label(last_key() - 1, q, panel.batch);
    }
    std::string key_label(std::size_t k, const Panel& panel) const {
        return view_.label(last_key(), k, panel.batch);
    }

    double label_width() const {
        double width = text_width("query", 11);
        for (const Panel& panel : panels_) {
            for (std::size_t q = 0; q < queries_; ++q) {
                width = std::max(width, text_width(query_label(q, panel)));
            }
            for (std::size_t k = 0; k < keys_; ++k) {
                width = std::max(width, text_width(key_label(k, panel)));
            }
        }
        return width;
    }

    void draw_panel(const Panel& panel, double x, double y) {
        const double left = x + labels_ + 6;
        const double right = left + between;
        const auto height_of = [&](std::size_t position) {
            return y + 38 + pitch * static_cast<double>(position);
        };
        if (!panel.caption.empty()) {
            svg_.text({.x = x, .y = y + 4, .style = "small"}, panel.caption);
        }
        svg_.text({.x = left, .y = y + 20, .anchor = "end", .style = "small soft"}, "query");
        svg_.text({.x = right, .y = y + 20, .style = "small soft"}, "key");
        svg_.add(fmt::format("<g class=\"{}\" fill=\"none\">\n", line_class(panel.head)));
        for (std::size_t q = 0; q < queries_; ++q) {
            for (std::size_t k = 0; k < keys_; ++k) {
                const double weight = weights_.at(panel.offset + q * keys_ + k);
                if (!(weight > least_)) continue;
                draw_arc(left + 4, height_of(q), height_of(k) - height_of(q), weight);
            }
        }
        svg_.add("</g>\n");
        for (std::size_t q = 0; q < queries_; ++q) {
            const bool undefined = std::isnan(weights_.at(panel.offset + q * keys_));
            svg_.text({.x = left, .y = height_of(q) + 4, .anchor = "end"},
                      query_label(q, panel) + (undefined ? " (nan)" : ""));
        }
        for (std::size_t k = 0; k < keys_; ++k) {
            svg_.text({.x = right, .y = height_of(k) + 4}, key_label(k, panel));
        }
        svg_.reach(right + labels_, 0);
    }

    /// Draws a line from a query to a key that is `down` below it.
    void draw_arc(double x, double y, double down, double weight) {
        const double bend = between / 2;
        svg_.add(
            fmt::format("<path d=\"M{} {}c{} 0 {} {} {} {}\" stroke-width=\"{:.2g}\" "
                        "opacity=\"{:.2g}\"/>\n",
                        px(x), px(y), px(bend), px(between - 8 - bend), px(down), px(between - 8),
                        px(down), thickest * weight, 0.35 + 0.65 * weight));
    }

    /// Draws the widths of weights 1 and 1/4.
    void draw_scale() {
        const double y = svg_.bottom() + 14;
        double x = 16;
        for (const double weight : {0.1, 0.25, 0.5, 1.0}) {
            svg_.add(fmt::format("<path class=\"rule\" d=\"M{} {}h30\" stroke-width=\"{:.2g}\"/>\n",
                                 px(x), px(y), thickest * weight));
            svg_.text({.x = x + 36, .y = y + 4, .style = "small"}, fmt::format("{}", weight));
            x += 80;
        }
        svg_.reach(x, y + 8);
    }

    Svg& svg_;
    const Tensor& weights_;
    const CellView& view_;
    std::size_t keys_, queries_;
    double least_;
    std::vector<Panel> panels_;
    double labels_;
};

}  // namespace

void draw_arcs(Svg& svg, const Document& document, const Section& section,
               const FigureChoices& choices) {
    const Tensor& weights = std::get<Tensor>(section.content);
    const CellView view(section, document, choices.options, Shown(weights.shape()), choices.end);
    const double top = draw_heading(svg, section, choices.with_words);
    Arcs(svg, weights, view).draw(top);
}

}  // namespace attn
