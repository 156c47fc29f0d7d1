#pragma once
#include <cstdint>
#include <string>

namespace app {

/// How many colours the output may use.
enum class ColorDepth { none, indexed, full };

/// What --color auto, always or never means here. `to_terminal` says whether the output is one.
///
/// With auto, NO_COLOR forbids colour, FORCE_COLOR asks for it (0 forbids it too), and otherwise a
/// terminal that is not dumb has it. COLORTERM=truecolor or 24bit, or FORCE_COLOR=3, gives 24 bits,
/// all else 256 colours.
/// Errors  ConfigError for another word.
ColorDepth color_depth(const std::string& when, bool to_terminal);

/// A colour of the sRGB screen.
struct Color {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;
};

/// From 0 (dark blue) to 1 (light yellow). Lightness grows evenly, so that order is seen without
/// telling hues apart.
Color sequential_color(double share);

/// From -1 (blue) over 0 (near white) to 1 (orange): equal sizes are equally dark, and the hues are
/// the two that every kind of colour vision tells apart.
Color diverging_color(double share);

/// Black or white, whichever is easier to read on `background`.
Color readable_on(Color background);

/// The nearest of the 240 fixed colours of a terminal that has 256, as their number.
int color_index(Color color);

/// `text` on a background, with a foreground that can be read on it: both are set, so that the
/// terminal's own colours do not matter. With ColorDepth::none the text alone.
std::string colored(const std::string& text, Color background, ColorDepth depth);

}  // namespace app
