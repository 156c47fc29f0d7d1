#include "app/terminal/terminal.hpp"

#include <array>
#include <map>

namespace app {
namespace {

constexpr std::array<int, 6> cube_levels{0, 95, 135, 175, 215, 255};

int squared_distance(attn::Color from, int red, int green, int blue) {
    const int r = from.red - red;
    const int g = from.green - green;
    const int b = from.blue - blue;
    return r * r + g * g + b * b;
}

std::string parameters(attn::Color color, ColorDepth depth) {
    if (depth == ColorDepth::indexed) return "5;" + std::to_string(color_index(color));
    return "2;" + std::to_string(color.red) + ";" + std::to_string(color.green) + ";" +
           std::to_string(color.blue);
}

}  // namespace

ColorDepth color_depth(const std::string& when, bool to_terminal) {
    if (when != "auto" && when != "always" && when != "never") {
        throw attn::ConfigError("--color '" + when + "' is unknown: use auto, always or never");
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

int color_index(attn::Color color) {
    // The user may have redefined the first 16 colours.
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

std::string two_colors(attn::Color upper, std::optional<attn::Color> lower, ColorDepth depth) {
    const std::string below = lower ? ";48;" + parameters(*lower, depth) : "";
    return "\x1b[38;" + parameters(upper, depth) + below + "m▀\x1b[0m";
}

std::string colored(const std::string& text, attn::Color background, ColorDepth depth) {
    if (depth == ColorDepth::none) return text;
    return "\x1b[38;" + parameters(attn::readable_on(background), depth) + ";48;" +
           parameters(background, depth) + "m" + text + "\x1b[0m";
}

attn::Ink ink_of(ColorDepth depth) {
    if (depth == ColorDepth::none) return {};
    static const auto headings = [] {
        std::map<std::pair<ColorDepth, attn::ColorRole>, std::string> all;
        for (const ColorDepth each : {ColorDepth::indexed, ColorDepth::full}) {
            for (const char* const part : {"query", "key", "value", "weights"}) {
                const attn::ColorRole role = attn::role_of(part);
                all[{each, role}] =
                    "\x1b[1;38;" + parameters(attn::terminal_role_color(role), each) + "m";
            }
        }
        return all;
    }();
    const auto in = [&](attn::ColorRole role) -> std::string_view {
        return headings.at({depth, role});
    };
    using attn::ColorRole;
    return {"\x1b[1m",
            "\x1b[2m",
            "\x1b[31m",
            "\x1b[4m",
            "\x1b[2m",
            "\x1b[0m",
            in(ColorRole::query),
            in(ColorRole::key),
            in(ColorRole::value),
            in(ColorRole::weight)};
}

}  // namespace app
