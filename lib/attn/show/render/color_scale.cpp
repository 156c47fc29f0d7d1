#include "attn/show/render/color_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace attn {
namespace {

std::uint8_t screen_value(double linear) {
    const double clipped = std::clamp(linear, 0.0, 1.0);
    const double encoded =
        clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * std::pow(clipped, 1 / 2.4) - 0.055;
    return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

/// Returns the colour of a perceptual lightness (0 to 1), chroma and hue in degrees.
/// Source  B. Ottosson, "A perceptual color space for image processing" (Oklab), 2020.
Color perceived(double lightness, double chroma, double hue) {
    const double angle = hue * std::acos(-1.0) / 180;
    const double a = chroma * std::cos(angle);
    const double b = chroma * std::sin(angle);
    const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return {screen_value(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
            screen_value(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
            screen_value(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/// Returns the luminance of a colour, 0 to 1.  Source  WCAG 2.1, relative luminance.
double luminance(Color color) {
    const auto linear = [](std::uint8_t value) {
        const double encoded = value / 255.0;
        return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double weight_hue = 252;

/// A colour by name, on each kind of page. Colours differ in lightness as well as in hue, so that
/// colour-blind readers can distinguish any two.
struct NamedColor {
    const char* name;
    double hue;
    std::array<double, 2> light, dark;  ///< lightness and chroma
};
constexpr NamedColor named_colors[]{{"none", 0, {0.24, 0.01}, {0.94, 0.003}},
                                    {"query", 195, {0.53, 0.09}, {0.92, 0.09}},
                                    {"key", 35, {0.50, 0.14}, {0.70, 0.13}},
                                    {"value", 306, {0.40, 0.17}, {0.81, 0.11}},
                                    {"weight", weight_hue, {0.53, 0.15}, {0.66, 0.13}},
                                    {"plus", 68, {0.67, 0.15}, {0.83, 0.14}},
                                    {"minus", 316, {0.44, 0.04}, {0.62, 0.035}}};

Color color_of(const NamedColor& named, Page page) {
    const auto [lightness, chroma] = page == Page::dark ? named.dark : named.light;
    return perceived(lightness, chroma, named.hue);
}

}  // namespace

ColorRole role_of(std::string_view name) {
    if (name.ends_with("query")) return ColorRole::query;
    if (name.ends_with("key")) return ColorRole::key;
    if (name.ends_with("value")) return ColorRole::value;
    return name.ends_with("weights") ? ColorRole::weight : ColorRole::none;
}

std::string role_class(std::string_view name) {
    const ColorRole role = role_of(name);
    return role == ColorRole::none ? "" : named_colors[static_cast<std::size_t>(role)].name;
}

Color role_color(ColorRole role, Page page) {
    return color_of(named_colors[static_cast<std::size_t>(role)], page);
}

Color terminal_role_color(ColorRole role) {
    // In the middle between black and white, which are both a terminal's background.
    return perceived(0.62, 0.12, named_colors[static_cast<std::size_t>(role)].hue);
}

std::string role_style(Page page) {
    std::string style = ":root,:host{";
    for (const NamedColor& each : named_colors) {
        if (each.hue == 0) continue;
        style += fmt::format("--{}:{};", each.name, hex(color_of(each, page)));
    }
    return style + "}\n";
}

Color scale_color(double share, ScaleKind kind, Page page) {
    if (std::isnan(share)) return {150, 150, 150};
    if (std::isinf(share)) return share > 0 ? Color{190, 190, 190} : Color{90, 90, 90};
    if (kind == ScaleKind::around_zero) {
        const double t = std::clamp(share, -1.0, 1.0);
        const double hue = t < 0 ? 315 : 62;
        const double chroma = (t < 0 ? 0.07 : 0.14) * std::abs(t);
        const double lightness =
            page == Page::dark ? 0.28 + 0.44 * std::abs(t) : 0.96 - 0.40 * std::abs(t);
        return perceived(lightness, chroma, hue);
    }
    const double t = std::clamp(share, 0.0, 1.0);
    if (page == Page::dark) return perceived(0.26 + 0.62 * t, 0.03 + 0.07 * t, weight_hue);
    return perceived(0.98 - 0.60 * t, 0.01 + 0.13 * t, weight_hue);
}

Color terminal_color(double share, ScaleKind kind) {
    return scale_color(share, kind, kind == ScaleKind::around_zero ? Page::light : Page::dark);
}

Color readable_on(Color background) {
    // Both contrasts are equal if (l + 0.05) / 0.05 = 1.05 / (l + 0.05).
    constexpr double equal = 0.1791;
    return luminance(background) > equal ? Color{0, 0, 0} : Color{255, 255, 255};
}

std::string hex(Color color) {
    return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

std::string scale_class(double share, ScaleKind kind) {
    if (std::isnan(share)) return "nan";
    if (std::isinf(share)) return share > 0 ? "inf" : "ninf";
    const double place = kind == ScaleKind::from_zero ? share : (share + 1) / 2;
    const long level = std::lround(std::clamp(place, 0.0, 1.0) * (scale_levels - 1));
    return (kind == ScaleKind::from_zero ? "s" : "d") + std::to_string(level);
}

std::string scale_style(Page page, const std::string& property, const std::string& within,
                        const std::string& ink) {
    std::string style;
    std::map<std::string, std::string> of_ink;  // the classes of each ink
    const auto rule = [&](double share, ScaleKind kind) {
        const Color color = scale_color(share, kind, page);
        const std::string name = "." + scale_class(share, kind);
        style += fmt::format("{}{{{}:{}}}\n", name, property, hex(color));
        std::string& others = of_ink[hex(readable_on(color))];
        others += (others.empty() ? "" : ",") + name + within;
    };
    for (int level = 0; level < scale_levels; ++level) {
        const double place = static_cast<double>(level) / (scale_levels - 1);
        rule(place, ScaleKind::from_zero);
        rule(2 * place - 1, ScaleKind::around_zero);
    }
    for (const double odd : {std::nan(""), infinity, -infinity}) rule(odd, ScaleKind::from_zero);
    for (const auto& [color, names] : of_ink) {
        style += fmt::format("{}{{{}:{}}}\n", names, ink, color);
    }
    return style;
}

}  // namespace attn
