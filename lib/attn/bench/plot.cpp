#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attn/bench/bench.hpp"
#include "attn/render/svg.hpp"

namespace attn {
namespace {

struct Point {
    double length;
    double seconds;
};

/// One series with all but T held still.
struct Line {
    const BenchRow* first;
    std::string label;
    std::vector<Point> points;
};

constexpr double left = 80, right = 540, top = 60, bottom = 400;
constexpr double usual_label_distance = 17;

bool same_line(const BenchRow& a, const BenchRow& b) {
    return a.series == b.series && a.shape.groups == b.shape.groups &&
           a.shape.head_dim == b.shape.head_dim;
}

std::string label_of(const BenchReport& report, const BenchRow& row, bool several_shapes) {
    std::string label = series_name(row.series);
    if (several_shapes) label += fmt::format(" ({},T,{})", row.shape.groups, row.shape.head_dim);
    for (const BenchGrowth& growth : report.growth) {
        if (growth.series == row.series && growth.groups == row.shape.groups &&
            growth.head_dim == row.shape.head_dim) {
            label += fmt::format(": T^{:.2f}", growth.time_exponent);
        }
    }
    return label;
}

std::vector<Line> lines_of(const BenchReport& report) {
    std::vector<const BenchRow*> timed;
    for (const BenchRow& row : report.rows) {
        if (row.left_out.empty() && row.seconds > 0) timed.push_back(&row);
    }
    bool several_shapes = false;
    for (const BenchRow* row : timed) {
        several_shapes = several_shapes || row->shape.groups != timed.front()->shape.groups ||
                         row->shape.head_dim != timed.front()->shape.head_dim;
    }
    std::vector<Line> lines;
    for (const BenchRow* row : timed) {
        auto line = std::ranges::find_if(
            lines, [row](const Line& known) { return same_line(*known.first, *row); });
        if (line == lines.end()) {
            line = lines.insert(line, {row, label_of(report, *row, several_shapes), {}});
        }
        line->points.push_back({static_cast<double>(row->shape.length), row->seconds});
    }
    for (Line& line : lines) {
        std::ranges::stable_sort(line.points, {}, &Point::length);
    }
    return lines;
}

/// From numbers to places on the picture, by their logarithm.
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

PlotAxes axes_of(const std::vector<Line>& lines) {
    double low_length = std::numeric_limits<double>::infinity();
    double low_seconds = low_length;
    double high_length = 0;
    double high_seconds = 0;
    for (const Line& line : lines) {
        for (const Point& point : line.points) {
            low_length = std::min(low_length, point.length);
            high_length = std::max(high_length, point.length);
            low_seconds = std::min(low_seconds, point.seconds);
            high_seconds = std::max(high_seconds, point.seconds);
        }
    }
    // A single length stands in the middle; times reach to whole powers of ten.
    if (low_length == high_length) {
        low_length /= 2;
        high_length *= 2;
    }
    const double first = std::floor(std::log10(low_seconds));
    const double last = std::max(first + 1, std::ceil(std::log10(high_seconds)));
    return {{low_length, high_length, left + 15, right - 15},
            {std::pow(10.0, first), std::pow(10.0, last), bottom, top}};
}

/// `10 ms`: ten to some power of seconds.
std::string power_of_ten_text(int power) {
    static constexpr std::array<const char*, 4> units{"s", "ms", "us", "ns"};
    static constexpr std::array<const char*, 3> tens{"1", "10", "100"};
    const int thousands = std::clamp(power >= 0 ? 0 : (2 - power) / 3, 0, 3);
    const int rest = power + 3 * thousands;
    if (rest < 0 || rest > 2) return fmt::format("1e{} s", power);
    return fmt::format("{} {}", tens[static_cast<std::size_t>(rest)],
                       units[static_cast<std::size_t>(thousands)]);
}

void draw_line(Svg& svg, double x1, double y1, double x2, double y2) {
    svg.add(fmt::format("<path class=\"rule\" opacity=\".3\" d=\"M{} {}L{} {}\"/>\n", px(x1),
                        px(y1), px(x2), px(y2)));
}

void draw_grid(Svg& svg, const PlotAxes& axes, const std::vector<Line>& lines) {
    const int first = static_cast<int>(std::lround(std::log10(axes.seconds.low)));
    const int last = static_cast<int>(std::lround(std::log10(axes.seconds.high)));
    for (int power = first; power <= last; ++power) {
        const double y = axes.seconds.place(std::pow(10.0, power));
        draw_line(svg, left, y, right, y);
        svg.text({.x = left - 8, .y = y + 4, .anchor = "end"}, power_of_ten_text(power));
    }
    std::vector<double> lengths;
    for (const Line& line : lines) {
        for (const Point& point : line.points) lengths.push_back(point.length);
    }
    std::sort(lengths.begin(), lengths.end());
    double before = -std::numeric_limits<double>::infinity();
    for (const double length : lengths) {
        const double x = axes.length.place(length);
        if (x < before + 40) continue;  // its text would run into the one before
        before = x;
        draw_line(svg, x, top, x, bottom);
        svg.text({.x = x, .y = bottom + 18, .anchor = "middle"}, fmt::format("{:.0f}", length));
    }
    svg.text({.x = (left + right) / 2, .y = bottom + 42, .anchor = "middle"},
             "T, queries and keys");
}

/// A mark of its own for each line, round, square or three-cornered.
void draw_mark(Svg& svg, std::size_t number, double x, double y) {
    static constexpr std::array<const char*, 3> shapes{
        "\" stroke-width=\"8\" stroke-linecap=\"round\" d=\"M{} {}h0",
        "\" stroke-width=\"7\" d=\"M{} {}m-3.5 0h7",
        "\" fill=\"none\" stroke-width=\"3\" d=\"M{} {}m0 -3l3 5h-6z"};
    svg.add("<path class=\"" + line_class(number) +
            fmt::format(fmt::runtime(shapes[number % shapes.size()]), px(x), px(y)) + "\"/>\n");
}

void draw_curve(Svg& svg, const Line& line, std::size_t number, const PlotAxes& axes) {
    std::string path;
    for (const Point& point : line.points) {
        const double x = axes.length.place(point.length);
        const double y = axes.seconds.place(point.seconds);
        path += (path.empty() ? "" : " ") + px(x) + "," + px(y);
        draw_mark(svg, number, x, y);
    }
    svg.add(fmt::format("<polyline class=\"{}\" points=\"{}\" fill=\"none\" stroke-width=\"2\"/>\n",
                        line_class(number), path));
}

/// Each line's label at the height of its end, pushed apart where they would overlap.
void draw_labels(Svg& svg, const std::vector<Line>& lines, const PlotAxes& axes) {
    struct Label {
        std::size_t number;
        double y;
    };
    std::vector<Label> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        places.push_back({i, axes.seconds.place(lines[i].points.back().seconds)});
    }
    std::ranges::stable_sort(places, {}, &Label::y);
    const double label_distance =
        std::min(usual_label_distance, (bottom - top) / static_cast<double>(places.size()));
    for (std::size_t i = 1; i < places.size(); ++i) {
        places[i].y = std::max(places[i].y, places[i - 1].y + label_distance);
    }
    // Labels pushed below the axis move up again, and their neighbours with them.
    double lowest = bottom;
    for (std::size_t i = places.size(); i-- > 0; lowest -= label_distance) {
        places[i].y = std::min(places[i].y, lowest);
    }
    for (const Label& label : places) {
        const std::string& words = lines[label.number].label;
        draw_mark(svg, label.number, right + 6, label.y);
        svg.text({.x = right + 16, .y = label.y + 4}, words);
        svg.reach(right + 16 + text_width(words), label.y);
    }
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
    const std::vector<Line> lines = lines_of(report);
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
    const PlotAxes axes = axes_of(lines);
    draw_grid(svg, axes, lines);
    for (std::size_t i = 0; i < lines.size(); ++i) draw_curve(svg, lines[i], i, axes);
    draw_labels(svg, lines, axes);
    return svg.finish(title);
}

}  // namespace attn
