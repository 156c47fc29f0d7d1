#include "attn/show/render/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Hues of Okabe & Ito, Color Universal Design, 2008, dark enough for lines on white; lighter ones
/// for dark pages.
constexpr std::array<std::pair<const char*, const char*>, 7> line_colors{{{"#0072b2", "#56b4e9"},
                                                                          {"#d55e00", "#ff9a3d"},
                                                                          {"#007a58", "#2fd0a0"},
                                                                          {"#b0468f", "#f0a0d0"},
                                                                          {"#7a5c00", "#f0e442"},
                                                                          {"#5b3fb5", "#b9a5ff"},
                                                                          {"#444444", "#dddddd"}}};

/// The colours of everything except cells and lines.
struct Palette {
    Page page;
    const char *paper, *ink, *soft, *rule, *box, *box_edge, *given, *given_edge, *plain, *hidden,
        *hidden_ink;
};
constexpr Palette on_light{Page::light, "#ffffff", "#1c1c1c", "#555555", "#767676", "#eef4fa",
                           "#3d6f9e",   "#f7f4ec", "#8a7740", "#f2f2f2", "#f7f7f7", "#666"};
constexpr Palette on_dark{Page::dark, "#14161a", "#e8e8e8", "#b4b8c0", "#8a9099", "#24303c",
                          "#6f93b5",  "#33302a", "#a08f60", "#24272d", "#1c1f24", "#a0a6b0"};
constexpr Palette on_paper{Page::light, "none",    "#000000", "#000000", "#767676", "#eef4fa",
                           "#3d6f9e",   "#f7f4ec", "#8a7740", "#f2f2f2", "#f7f7f7", "#666"};

const Palette& palette_of(Theme theme) {
    return theme == Theme::dark ? on_dark : theme == Theme::print ? on_paper : on_light;
}

std::string page_style(const Palette& p) {
    std::string style = fmt::format(
        ".page{{fill:{}}}text,.ink{{fill:{}}}.soft{{fill:{}}}.rule{{stroke:{};fill:none}}"
        ".box{{fill:{};stroke:{}}}.given{{fill:{};stroke:{}}}.plain{{color:{}}}\n",
        p.paper, p.ink, p.soft, p.rule, p.box, p.box_edge, p.given, p.given_edge, p.plain);
    for (std::size_t i = 0; i < line_colors.size(); ++i) {
        const auto& [light, dark] = line_colors[i];
        style +=
            fmt::format(".{0}{{stroke:{1}}}", line_class(i), p.page == Page::dark ? dark : light);
    }
    for (const char* const part : {"query", "key", "value", "weights"}) {
        const Color color = role_color(role_of(part), p.page);
        style += fmt::format("text.{}{{fill:{}}}", role_class(part), hex(color));
    }
    return style + fmt::format(".hid{{color:{}}}.hid text{{fill:{}}}\n", p.hidden, p.hidden_ink) +
           scale_style(p.page, "color", " text", "fill");
}

constexpr std::string_view shared_style =
    ".title{font-size:17px;font-weight:600}"
    ".formula,.digits{font-family:'DejaVu Sans Mono','Noto Sans Mono',monospace}"
    ".formula{font-size:12px}.digits{font-size:12px}"
    ".cells rect,.bar rect{fill:currentColor}.run{stroke:currentColor}"
    ".small{font-size:11px}.tiny{font-size:10.5px}\n";

/// Restricts the rules of a style sheet to elements inside that class, so that figures with two
/// themes on one page keep their own.
std::string within(std::string_view scope, std::string_view style) {
    std::string text;
    bool begins = true;   // in a selector
    bool inside = false;  // inside the braces of a rule
    for (const char letter : style) {
        if (begins && letter != '\n') text += fmt::format(".{} ", scope);
        begins = (begins && letter == '\n') || letter == '}' || (letter == ',' && !inside);
        inside = letter == '{' || (inside && letter != '}');
        text += letter;
    }
    return text;
}

std::string style_of(Theme theme, std::string_view scope) {
    const std::string style =
        within(scope, std::string(shared_style) + page_style(palette_of(theme)));
    if (theme != Theme::automatic) return style;
    return style + "@media (prefers-color-scheme:dark){\n" + within(scope, page_style(on_dark)) +
           "}\n";
}

bool is_weights(const Section& section) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    return tensor != nullptr && tensor->dimension() >= 2 && section.name == "weights" &&
           tensor->axes().back() == "key" && tensor->size() > 0;
}

}  // namespace

std::string px(double length) {
    std::string text = fmt::format("{:.1f}", length + 0.0);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double size) {
    return 0.58 * size * static_cast<double>(display_width(text));
}

double formula_width(std::string_view text) {
    return 0.605 * digit_type * static_cast<double>(display_width(text));
}

double memory_needs(const FigureChoices& choices, double type) {
    if (choices.width == 0) return std::numeric_limits<double>::infinity();
    return static_cast<double>(choices.width) * type / least_type;
}

std::string line_class(std::size_t i) { return "l" + std::to_string(i % line_colors.size()); }

void Svg::text(const TextAt& place, std::string_view words) {
    std::string more;
    if (std::string_view(place.style) != "") more += fmt::format(" class=\"{}\"", place.style);
    if (std::string_view(place.anchor) != "start") {
        more += fmt::format(" text-anchor=\"{}\"", place.anchor);
    }
    if (place.turned != 0) {
        more += fmt::format(" transform=\"rotate({} {} {})\"", px(place.turned), px(place.x),
                            px(place.y));
    }
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", px(place.x), px(place.y), more,
                         xml_text(words));
}

double Svg::paragraph(TextAt place, std::string_view words, std::size_t columns, double size) {
    const double line = 1.3 * size;
    for (const std::string& part : wrap(words, columns)) {
        text(place, part);
        reach(place.x + text_width(part, size), place.y);
        place.y += line;
    }
    return place.y;
}

void Svg::reach(double x, double y) {
    right_ = std::max(right_, x);
    bottom_ = std::max(bottom_, y);
}

std::string Svg::finish(std::string_view title, std::string_view words,
                        std::string_view command) const {
    std::string more;
    if (!words.empty()) more += "\n<desc>" + xml_text(words) + "</desc>";
    if (!command.empty()) more += "\n<metadata>" + xml_text(command) + "</metadata>";
    const double full = std::ceil(right_ + 16);
    const double shown = width_ > 0 ? width_ : full;
    const std::string width = px(full);
    const std::string height = px(std::ceil(bottom_ + 16));
    const std::string scope = fmt::format("attn-{}", word(theme_));
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{7}\" width=\"{8}\" height=\"{9}\" "
        "viewBox=\"0 0 {0} {1}\" role=\"img\" font-family=\"'DejaVu Sans','Noto Sans',sans-serif\" "
        "font-size=\"13\">\n<title>{2}</title>{5}\n<style>\n{3}</style>\n"
        "<defs><pattern id=\"hatch\" width=\".4\" height=\".4\" "
        "patternUnits=\"userSpaceOnUse\"><path d=\"M0 .4l.4-.4\" stroke=\"#8a8a8a\" "
        "stroke-width=\".05\"/></pattern><pattern id=\"cross\" width=\"1\" height=\"1\" "
        "patternUnits=\"userSpaceOnUse\"><path d=\"M.2 .2l.6.6m0-.6l-.6.6\" stroke=\"#000\" "
        "stroke-width=\".12\"/></pattern></defs>\n<rect class=\"page\" fill=\"{6}\" width=\"{0}\" "
        "height=\"{1}\"/>\n{4}</svg>\n",
        width, height, xml_text(title), style_of(theme_, scope), body_, more,
        palette_of(theme_).paper, scope, px(shown), px(std::ceil(bottom_ + 16) * shown / full));
}

double draw_heading(Svg& svg, const Section& section, bool with_words, double room) {
    double y = svg.bottom() + (svg.bottom() > 0 ? 44 : 30);
    if (!with_words) return y - 14;
    const auto columns = [room](double letter) {
        return static_cast<std::size_t>(std::max(24.0, room / letter));
    };
    const std::string title = section.name + ": " + section.title.raw();
    const bool fits = !section.title.empty() && 1.1 * text_width(title, 17) <= room;
    const std::string& words = fits ? title : section.name;
    svg.text({.x = 16, .y = y, .style = "title"}, words);
    svg.reach(16 + text_width(words, 17), y);
    y += 22;
    if (!section.formula.empty()) {
        y = svg.paragraph({.x = 16, .y = y, .style = "formula soft"}, section.formula,
                          columns(text_width("x")), 13);
    }
    if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
        const std::string axes = tensor->described();
        svg.text({.x = 16, .y = y, .style = "small soft"},
                 axes + (axes.empty() ? "" : ", ") + std::string(dtype_name(tensor->dtype())));
        y += 17;
    }
    if (!section.margin.empty()) {
        y = svg.paragraph({.x = 16, .y = y, .style = "small"}, "! " + section.margin.raw(),
                          columns(text_width("x", small_type)), 12);
    }
    return y + 6;
}

std::vector<Panel> panels_of(const Tensor& tensor, const CellView& view) {
    const Shape shape = tensor.shape();
    const std::size_t dimension = shape.size();
    const std::size_t inside =
        dimension < 2 ? tensor.size() : shape[dimension - 1] * shape[dimension - 2];
    std::vector<Panel> panels;
    for (std::size_t offset = 0; offset < tensor.size(); offset += inside) {
        Panel panel{"", offset, view.picked_sequence()};
        std::size_t rest = offset / inside;
        for (std::size_t axis = dimension < 2 ? 0 : dimension - 2; axis-- > 0;) {
            const std::size_t i = view.whole_index(axis, rest % shape[axis]);
            rest /= shape[axis];
            const std::string& name = tensor.axes()[axis];
            panel.caption = name + " " + std::to_string(i) +
                            (panel.caption.empty() ? "" : ", " + panel.caption);
            if (name == "batch") panel.batch = i;
            if (name == "head") panel.head = i;
        }
        panels.push_back(std::move(panel));
    }
    return panels;
}

void render_svg(const Document& document, const FigureChoices& choices, const Sink& sink) {
    Svg svg(choices.theme, static_cast<double>(choices.width));
    std::string title, words;
    if (choices.grid) check_grid(document, *choices.grid);
    if (choices.kind == FigureKind::flow && !choices.grid) {
        draw_flow(svg, document, choices);
        title = "attention, as a flow of tensors";
        words = "A box for each step, an arrow from each tensor to those that read it.";
    } else {
        for (const Section& section : document.sections) {
            if (!section.shown || (choices.grid && !has_tiles(section))) continue;
            if (choices.kind == FigureKind::arcs && !choices.grid && !is_weights(section)) continue;
            (choices.grid                       ? draw_tiles
             : choices.kind == FigureKind::arcs ? draw_arcs
                                                : draw_matrices)(svg, document, section, choices);
            title += (title.empty() ? "" : ", ") + section.name;
            words += (words.empty() ? "" : "; ") + section.name + ": " + section.title.raw();
        }
        if (title.empty() && choices.kind == FigureKind::arcs) {
            throw ConfigError(
                "$figure arcs joins queries to keys by their weights, but no step shown has "
                "both axes: keep weights among the steps, a row as weights[2:3], or use $figure "
                "matrix"_message);
        }
    }
    sink(svg.finish(title, words, document.command));
}

}  // namespace attn
