#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attn/bench/report.hpp"
#include "attn/render/svg.hpp"

namespace attn {
namespace {

struct Point {
    double length;
    double seconds;
};

/// One series with all but T held still.
struct Line {
    std::string label;
    std::vector<Point> points;
};

/// Hues that every kind of colour vision tells apart, dark enough for lines on white.
/// Source  Okabe & Ito, Color Universal Design, 2008; its yellow and sky blue are too light here.
constexpr std::array<const char*, 6> colors{"#0072b2", "#d55e00", "#009e73",
                                            "#000000", "#b0608f", "#a66f00"};

constexpr double least_width = 760;
constexpr double height = 460;
constexpr double left = 80;
constexpr double right = 540;
constexpr double top = 60;
constexpr double bottom = 400;
constexpr double usual_label_distance = 17;

/// Wide enough for the longest label: no letter of the font is wider than 8, on average.
double width_of(const std::vector<Line>& lines) {
    double width = least_width;
    for (const Line& line : lines) {
        width = std::max(width, right + 26 + 8 * static_cast<double>(line.label.size()));
    }
    return width;
}

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
    std::vector<const BenchRow*> firsts;
    for (const BenchRow* row : timed) {
        const auto found = std::find_if(firsts.begin(), firsts.end(), [row](const BenchRow* first) {
            return same_line(*first, *row);
        });
        const auto place = static_cast<std::size_t>(found - firsts.begin());
        if (found == firsts.end()) {
            firsts.push_back(row);
            lines.push_back({label_of(report, *row, several_shapes), {}});
        }
        lines[place].points.push_back({static_cast<double>(row->shape.length), row->seconds});
    }
    for (Line& line : lines) {
        std::stable_sort(line.points.begin(), line.points.end(),
                         [](const Point& a, const Point& b) { return a.length < b.length; });
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

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                       anchor, more, xml_text(text));
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

std::string time_grid(const Axis& axis) {
    std::string svg;
    const int first = static_cast<int>(std::lround(std::log10(axis.low)));
    const int last = static_cast<int>(std::lround(std::log10(axis.high)));
    for (int power = first; power <= last; ++power) {
        const double y = axis.place(std::pow(10.0, power));
        svg += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d8d8d8\"/>\n",
            left, y, right, y);
        svg += text_at(left - 8, y + 4, "end", power_of_ten_text(power));
    }
    return svg;
}

std::string length_grid(const Axis& axis, const std::vector<Line>& lines) {
    std::vector<double> lengths;
    for (const Line& line : lines) {
        for (const Point& point : line.points) lengths.push_back(point.length);
    }
    std::sort(lengths.begin(), lengths.end());
    std::string svg;
    double last = -std::numeric_limits<double>::infinity();
    for (const double length : lengths) {
        const double x = axis.place(length);
        if (x < last + 40) continue;  // its text would run into the one before
        last = x;
        svg += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d8d8d8\"/>\n",
            x, top, x, bottom);
        svg += text_at(x, bottom + 18, "middle", fmt::format("{:.0f}", length));
    }
    return svg;
}

/// A mark of its own for each line: circle, square, diamond, triangle.
std::string mark(std::size_t number, double x, double y, const char* color) {
    switch (number % 4) {
        case 0:
            return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y,
                               color);
        case 1:
            return fmt::format(
                "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\" fill=\"{}\"/>\n", x - 4,
                y - 4, color);
        case 2:
            return fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" fill=\"{}\"/>\n", x,
                               y - 5, color);
        default:
            return fmt::format("<path d=\"M{:.1f} {:.1f}l5 9l-10 0z\" fill=\"{}\"/>\n", x, y - 5,
                               color);
    }
}

std::string curve(const Line& line, std::size_t number, const PlotAxes& axes) {
    const char* const color = colors[number % colors.size()];
    std::string path;
    std::string marks;
    for (const Point& point : line.points) {
        const double x = axes.length.place(point.length);
        const double y = axes.seconds.place(point.seconds);
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
        marks += mark(number, x, y, color);
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       path, color) +
           marks;
}

/// Each line's label at the height of its end, pushed apart where they would overlap.
std::string labels(const std::vector<Line>& lines, const PlotAxes& axes) {
    struct Label {
        std::size_t number;
        double y;
    };
    std::vector<Label> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        places.push_back({i, axes.seconds.place(lines[i].points.back().seconds)});
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const Label& a, const Label& b) { return a.y < b.y; });
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
    std::string svg;
    for (const Label& label : places) {
        svg += mark(label.number, right + 6, label.y, colors[label.number % colors.size()]);
        svg += text_at(right + 16, label.y + 4, "start", lines[label.number].label);
    }
    return svg;
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
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"13\" fill=\"#222222\">\n<title>{2}</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width_of(lines), height, xml_text(title));
    svg += text_at(left, 24, "start", title, " font-size=\"17\"");
    svg += text_at(left, 44, "start", machine, " fill=\"#555555\"");
    if (lines.empty()) {
        return svg +
               text_at((left + right) / 2, (top + bottom) / 2, "middle", "nothing was timed") +
               "</svg>\n";
    }
    const PlotAxes axes = axes_of(lines);
    svg += time_grid(axes.seconds) + length_grid(axes.length, lines);
    svg += text_at((left + right) / 2, bottom + 42, "middle", "T, queries and keys");
    for (std::size_t i = 0; i < lines.size(); ++i) svg += curve(lines[i], i, axes);
    return svg + labels(lines, axes) + "</svg>\n";
}

}  // namespace attn
