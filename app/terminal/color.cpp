#include "app/terminal/color.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/terminal/terminal.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

std::uint8_t screen_value(double linear) {
    const double clipped = std::clamp(linear, 0.0, 1.0);
    const double encoded =
        clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * std::pow(clipped, 1 / 2.4) - 0.055;
    return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

/// The colour of a lightness (0 to 1), a chroma and a hue in degrees, as the eye measures them.
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

/// How much light a colour gives, 0 to 1.  Source  WCAG 2.1, relative luminance.
double luminance(Color color) {
    const auto linear = [](std::uint8_t value) {
        const double encoded = value / 255.0;
        return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

constexpr std::array<int, 6> cube_levels{0, 95, 135, 175, 215, 255};

int squared_distance(Color from, int red, int green, int blue) {
    const int r = from.red - red;
    const int g = from.green - green;
    const int b = from.blue - blue;
    return r * r + g * g + b * b;
}

std::string parameters(Color color, ColorDepth depth) {
    if (depth == ColorDepth::indexed) return "5;" + std::to_string(color_index(color));
    return "2;" + std::to_string(color.red) + ";" + std::to_string(color.green) + ";" +
           std::to_string(color.blue);
}

}  // namespace

ColorDepth color_depth(const std::string& when, bool to_terminal) {
    if (when != "auto" && when != "always" && when != "never") {
        throw attn::ConfigError("--color does not know '" + when + "': use auto, always or never");
    }
    const std::string force = environment("FORCE_COLOR");
    bool wanted = when == "always";
    if (when == "auto") {
        const bool forbidden = !environment("NO_COLOR").empty() || force == "0" || force == "false";
        const bool able = to_terminal && environment("TERM") != "dumb";
        wanted = !forbidden && (!force.empty() || able);
    }
    if (!wanted) return ColorDepth::none;
    const std::string kind = environment("COLORTERM");
    const bool full = kind == "truecolor" || kind == "24bit" || force == "3";
    return full ? ColorDepth::full : ColorDepth::indexed;
}

Color sequential_color(double share) {
    const double t = std::clamp(share, 0.0, 1.0);
    return perceived(0.30 + 0.62 * t, 0.09 + 0.05 * t, 268 - 163 * t);
}

Color diverging_color(double share) {
    const double t = std::clamp(share, -1.0, 1.0);
    return perceived(0.96 - 0.40 * std::abs(t), 0.14 * std::abs(t), t < 0 ? 255 : 58);
}

Color readable_on(Color background) {
    // Both contrasts are equal where (l + 0.05) / 0.05 = 1.05 / (l + 0.05).
    constexpr double equal = 0.1791;
    return luminance(background) > equal ? Color{0, 0, 0} : Color{255, 255, 255};
}

int color_index(Color color) {
    // The first 16 are whatever the user made of them.
    int best = 16;
    int nearest = 3 * 256 * 256;
    const auto consider = [&](int index, int red, int green, int blue) {
        const int distance = squared_distance(color, red, green, blue);
        if (distance >= nearest) return;
        nearest = distance;
        best = index;
    };
    for (int i = 0; i < 216; ++i) {
        const auto level = [](int place) { return cube_levels[static_cast<std::size_t>(place)]; };
        consider(16 + i, level(i / 36), level(i / 6 % 6), level(i % 6));
    }
    for (int i = 0; i < 24; ++i) consider(232 + i, 8 + 10 * i, 8 + 10 * i, 8 + 10 * i);
    return best;
}

std::string colored(const std::string& text, Color background, ColorDepth depth) {
    if (depth == ColorDepth::none) return text;
    return "\x1b[38;" + parameters(readable_on(background), depth) + ";48;" +
           parameters(background, depth) + "m" + text + "\x1b[0m";
}

}  // namespace app
