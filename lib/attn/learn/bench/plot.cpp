#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attn/learn/bench/bench.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

constexpr double left = 80, right = 540, top = 60, bottom = 400;
constexpr double usual_label_distance = 17;

std::string label_of(const BenchLine& line, const std::vector<BenchLine>& lines) {
    const auto has_its_shape = [&](const BenchLine& other) {
        return other.groups == line.groups && other.head_dim == line.head_dim;
    };
    std::string label = series_name(line.series);
    if (!std::ranges::all_of(lines, has_its_shape)) {
        label += fmt::format(" ({},T,{})", line.groups, line.head_dim);
    }
    const std::optional<double> exponent = fitted_exponent(line.times);
    return exponent ? label + fmt::format(": T^{:.2f}", *exponent) : label;
}

/// Maps numbers to places in the picture, logarithmically.
struct Axis {
    double low, high;    ///< numbers
    double start, stop;  ///< places

    double place(double number) const {
        return start + (stop - start) * std::log(number / low) / std::log(high / low);
    }
};

struct PlotAxes {
    Axis length, seconds;
};

/// Returns the points of all lines, by T.
BenchPoints points_of(const std::vector<BenchLine>& lines) {
    BenchPoints all;
    for (const BenchLine& line : lines) {
        all.insert(all.end(), line.times.begin(), line.times.end());
    }
    std::ranges::sort(all);
    return all;
}

PlotAxes axes_of(const BenchPoints& points) {
    double low_length = points.front().first;
    double high_length = points.back().first;
    const auto seconds_of = [](const auto& point) { return point.second; };
    const auto [fastest, slowest] = std::ranges::minmax(points, {}, seconds_of);
    // A single length is centred; times extend to powers of ten.
    if (low_length == high_length) {
        low_length /= 2;
        high_length *= 2;
    }
    const double first = std::floor(std::log10(fastest.second));
    const double last = std::max(first + 1, std::ceil(std::log10(slowest.second)));
    return {{low_length, high_length, left + 15, right - 15},
            {std::pow(10.0, first), std::pow(10.0, last), bottom, top}};
}

void draw_line(Svg& svg, double x1, double y1, double x2, double y2) {
    svg.add(fmt::format("<path class=\"rule\" opacity=\".3\" d=\"M{} {}L{} {}\"/>\n", px(x1),
                        px(y1), px(x2), px(y2)));
}

void draw_grid(Svg& svg, const PlotAxes& axes, const BenchPoints& points) {
    const int first = static_cast<int>(std::lround(std::log10(axes.seconds.low)));
    const int last = static_cast<int>(std::lround(std::log10(axes.seconds.high)));
    for (int power = first; power <= last; ++power) {
        const double seconds = std::pow(10.0, power);
        const double y = axes.seconds.place(seconds);
        draw_line(svg, left, y, right, y);
        svg.text({.x = left - 8, .y = y + 4, .anchor = "end"}, short_time_text(seconds));
    }
    double before = -std::numeric_limits<double>::infinity();
    for (const auto& [length, seconds] : points) {
        const double x = axes.length.place(length);
        if (x < before + 40) continue;  // its label would overlap the previous one
        before = x;
        draw_line(svg, x, top, x, bottom);
        svg.text({.x = x, .y = bottom + 18, .anchor = "middle"}, fmt::format("{:.0f}", length));
    }
    svg.text({.x = (left + right) / 2, .y = bottom + 42, .anchor = "middle"},
             "T, queries and keys");
}

/// Draws a marker per line: round, square or triangular.
void draw_mark(Svg& svg, std::size_t number, double x, double y) {
    static constexpr std::array<const char*, 3> shapes{
        "\" stroke-width=\"8\" stroke-linecap=\"round\" d=\"M{} {}h0",
        "\" stroke-width=\"7\" d=\"M{} {}m-3.5 0h7",
        "\" fill=\"none\" stroke-width=\"3\" d=\"M{} {}m0 -3l3 5h-6z"};
    svg.add("<path class=\"" + line_class(number) +
            fmt::format(fmt::runtime(shapes[number % shapes.size()]), px(x), px(y)) + "\"/>\n");
}

void draw_curve(Svg& svg, const BenchLine& line, std::size_t number, const PlotAxes& axes) {
    std::string path;
    for (const auto& [length, seconds] : line.times) {
        const double x = axes.length.place(length);
        const double y = axes.seconds.place(seconds);
        path += (path.empty() ? "" : " ") + px(x) + "," + px(y);
        draw_mark(svg, number, x, y);
    }
    svg.add(fmt::format("<polyline class=\"{}\" points=\"{}\" fill=\"none\" stroke-width=\"2\"/>\n",
                        line_class(number), path));
}

/// Draws each line's label at the height of its end, moved apart to avoid overlap.
void draw_labels(Svg& svg, const std::vector<BenchLine>& lines, const PlotAxes& axes) {
    struct Label {
        std::size_t number;
        double y;
    };
    std::vector<Label> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        places.push_back({i, axes.seconds.place(lines[i].times.back().second)});
    }
    std::ranges::stable_sort(places, {}, &Label::y);
    const double label_distance =
        std::min(usual_label_distance, (bottom - top) / static_cast<double>(places.size()));
    for (std::size_t i = 1; i < places.size(); ++i) {
        places[i].y = std::max(places[i].y, places[i - 1].y + label_distance);
    }
    // Labels below the axis move up again, together with their neighbours.
    double lowest = bottom;
    for (std::size_t i = places.size(); i-- > 0; lowest -= label_distance) {
        places[i].y = std::min(places[i].y, lowest);
    }
    for (const Label& label : places) {
        const std::string words = label_of(lines[label.number], lines);
        draw_mark(svg, label.number, right + 6, label.y);
        svg.text({.x = right + 16, .y = label.y + 4}, words);
        svg.reach(right + 16 + text_width(words), label.y);
    }
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
    const std::vector<BenchLine> lines = lines_of(report.rows);
    std::string title = "Time of one attention over its length T";
    if (report.causal) title += ", causal";
    if (report.window > 0) title += fmt::format(", window {}", report.window);
    const std::string machine = fmt::format(
        "{}, {} core{}; median of {} round{}", report.machine.processor, report.machine.cores,
        report.machine.cores == 1 ? "" : "s", report.rounds, report.rounds == 1 ? "" : "s");
    Svg svg(Theme::light);
    svg.text({.x = left, .y = 24, .style = "title"}, title);
    svg.text({.x = left, .y = 44, .style = "soft"}, machine);
    svg.reach(std::max(744.0, left + text_width(machine)), 444);
    if (lines.empty()) {
        svg.text({.x = (left + right) / 2, .y = (top + bottom) / 2, .anchor = "middle"},
                 "nothing was timed");
        return svg.finish(title);
    }
    const BenchPoints points = points_of(lines);
    const PlotAxes axes = axes_of(points);
    draw_grid(svg, axes, points);
    for (std::size_t i = 0; i < lines.size(); ++i) draw_curve(svg, lines[i], i, axes);
    draw_labels(svg, lines, axes);
    return svg.finish(title);
}

}  // namespace attn
