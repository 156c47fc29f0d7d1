#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// Number of lines drawn for each query, and in total: more would be unreadable. A short text has
/// all lines.
constexpr std::size_t lines_of_query = 4, most_lines = 1500, few_lines = 200;
/// The distance of tokens in a short text; the height of a long text alone, and of several heads.
constexpr double widest_pitch = 26, tall = 800, less_tall = 400;

/// The number of lines that are drawn, the number of all lines, and the largest share that is not
/// drawn.
struct Strongest {
    std::size_t drawn, all;
    double below = 0;
};
Strongest strongest_of(const Tensor& weights, const CellView& view) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (view.share_at(i) > 0) shares.push_back(view.share_at(i));
    }
    const std::size_t queries = weights.size() / weights.shape().back();
    const std::size_t most = std::clamp(lines_of_query * queries, few_lines, most_lines);
    if (shares.size() <= most) return {shares.size(), shares.size()};
    const auto place = shares.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(shares.begin(), place, shares.end(), std::greater<>());
    return {most, shares.size(), *place};
}

/// A panel of lines: queries on the left, keys on the right.
class Arcs {
public:
    Arcs(Svg& svg, const Tensor& weights, const CellView& view, bool is_by_row, double room)
        : svg_(svg),
          weights_(weights),
          view_(view),
          is_by_row_(is_by_row),
          keys_(weights.shape().back()),
          queries_(weights.shape()[last_key() - 1]),
          strongest_(strongest_of(weights, view)),
          panels_(panels_of(weights, view)),
          labels_(label_width()) {
        const auto tokens = static_cast<double>(std::max(queries_, keys_));
        const bool is_alone = panels_.size() == 1;
        pitch_ = std::clamp((is_alone ? tall : less_tall) / tokens, 3.0, widest_pitch);
        const double beside = 2 * labels_ + 44;
        between_ = is_alone ? std::clamp(0.45 * pitch_ * tokens, 180.0, 400.0) : 150;
        // Two heads fit side by side if their lines still have room.
        const double narrow = room / 2 - beside;
        if (!is_alone && narrow >= 50) between_ = std::min(between_, narrow);
        between_ = std::clamp(room - beside, 50.0, between_);
        every_ = static_cast<std::size_t>(std::ceil(12 / pitch_));
        across_ = 2 * labels_ + between_ + 40;
        per_row_ =
            std::clamp<std::size_t>(static_cast<std::size_t>(room / across_), 1, panels_.size());
    }

    /// Returns the width of the panels in a row with their labels.
    double width() const { return static_cast<double>(per_row_) * across_ - 28; }

    void draw(double top) {
        if (strongest_.drawn < strongest_.all) {
            svg_.text(
                {.x = 16, .y = top + 6, .style = "small soft"},
                fmt::format("the {} strongest of {} lines", strongest_.drawn, strongest_.all));
            top += 18;
        }
        const double height = pitch_ * static_cast<double>(std::max(queries_, keys_) - 1) + 62;
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            const double y = top + height * static_cast<double>(i / per_row_);
            draw_panel(panels_[i], 16 + across_ * static_cast<double>(i % per_row_), y);
            svg_.reach(0, y + height - 16);
        }
        draw_scale();
    }

private:
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
        const double right = left + between_;
        const auto height_of = [&](std::size_t position) {
            return y + 38 + pitch_ * static_cast<double>(position);
        };
        if (!panel.caption.empty()) {
            svg_.text({.x = x, .y = y + 4, .style = "small"}, panel.caption);
        }
        svg_.text({.x = left, .y = y + 20, .anchor = "end", .style = "small soft"}, "query");
        svg_.text({.x = right, .y = y + 20, .style = "small soft"}, "key");
        svg_.add(fmt::format("<g class=\"{}\" fill=\"none\">\n", line_class(panel.head)));
        for (std::size_t q = 0; q < queries_; ++q) {
            for (std::size_t k = 0; k < keys_; ++k) {
                const double share = view_.share_at(panel.offset + q * keys_ + k);
                if (!(share > strongest_.below)) continue;
                draw_arc(left + 4, height_of(q), height_of(k) - height_of(q), share);
            }
        }
        svg_.add("</g>\n");
        for (std::size_t q = 0; q < queries_; q += every_) {
            const bool undefined = std::isnan(weights_.at(panel.offset + q * keys_));
            svg_.text({.x = left, .y = height_of(q) + 4, .anchor = "end"},
                      query_label(q, panel) + (undefined ? " (nan)" : ""));
        }
        for (std::size_t k = 0; k < keys_; k += every_) {
            svg_.text({.x = right, .y = height_of(k) + 4}, key_label(k, panel));
        }
        svg_.reach(right + labels_, 0);
    }

    /// Lines are thinner where more of them cross.
    double thickness(double share) const { return std::max(1.5, 0.013 * pitch_ * pitch_) * share; }

    /// Draws a line from a query to a key that is `down` below it.
    void draw_arc(double x, double y, double down, double share) {
        const double bend = between_ / 2;
        const double across = between_ - 8;
        svg_.add(
            fmt::format("<path d=\"M{} {}c{} 0 {} {} {} {}\" stroke-width=\"{:.2g}\" "
                        "opacity=\"{:.2g}\"/>\n",
                        px(x), px(y), px(bend), px(across - bend), px(down), px(across), px(down),
                        thickness(share), 0.15 + 0.85 * share * share));
    }

    /// Draws the widths of a few weights, or of shares of the largest in a row.
    void draw_scale() {
        const double y = svg_.bottom() + 14;
        double x = 16;
        for (const double share : {0.25, 0.5, 1.0}) {
            svg_.add(fmt::format("<path class=\"rule\" d=\"M{} {}h24\" stroke-width=\"{:.2g}\"/>\n",
                                 px(x), px(y), thickness(share)));
            const std::string words = share == 1   ? view_.high_end()
                                      : is_by_row_ ? (share < 0.4 ? "a quarter" : "half")
                                                   : fmt::format("{:.3g}", share * view_.limit());
            svg_.text({.x = x + 28, .y = y + 4, .style = "small"}, words);
            x += 28 + text_width(words, small_type) + 12;
        }
        svg_.reach(x - 12, y + 8);
    }

    Svg& svg_;
    const Tensor& weights_;
    const CellView& view_;
    bool is_by_row_;
    std::size_t keys_, queries_;
    Strongest strongest_;
    std::vector<Panel> panels_;
    double labels_;
    double pitch_ = widest_pitch, between_ = 0, across_ = 0;
    std::size_t per_row_ = 1;
    std::size_t every_ = 1;  ///< the least distance between labels that do not touch
};

}  // namespace

void draw_arcs(Svg& svg, const Document& document, const Section& section,
               const FigureChoices& choices) {
    const Tensor& weights = std::get<Tensor>(section.content);
    const ScaleEnd end = scale_end(section, choices.end);
    const CellView view(section, document, choices.options, Shown(weights.shape()), end);
    const double room = std::min(widest_row, memory_needs(choices, small_type));
    Arcs arcs(svg, weights, view, end == ScaleEnd::row, room);
    arcs.draw(draw_heading(svg, section, choices.with_words, arcs.width()));
}

}  // namespace attn
