#pragma once
#include <string>

#include "attn/render/color_scale.hpp"
#include "attn/text/ink.hpp"

namespace app {

/// How many colours the output may use.
enum class ColorDepth { none, indexed, full };

/// The colours that --color auto, always or never gives. `to_terminal`: the output is a terminal.
///
/// With auto, NO_COLOR forbids colour, FORCE_COLOR asks for it (0 forbids it too), and otherwise a
/// terminal that is not dumb has it. COLORTERM=truecolor or 24bit, or FORCE_COLOR=3, gives 24 bits,
/// all else 256 colours.
/// Errors  ConfigError for another word.
ColorDepth color_depth(const std::string& when, bool to_terminal);

/// The nearest of the 240 fixed colours of a terminal that has 256, as their number.
int color_index(attn::Color color);

/// `text` on a background, with a foreground that can be read on it: both are set, so that the
/// terminal's own colours do not matter. With ColorDepth::none the text alone.
std::string colored(const std::string& text, attn::Color background, ColorDepth depth);

/// How words are set apart: headings bold, formulas dim, mistakes red, other digits underlined.
attn::Ink ink_of(ColorDepth depth);

}  // namespace app
