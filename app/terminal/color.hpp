#pragma once
#include <string>

#include "attn/render/cell_view.hpp"
#include "attn/render/color_scale.hpp"
#include "attn/text/text_pieces.hpp"

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

/// How a heatmap is drawn.
struct HeatmapChoices {
    attn::PrintOptions options;
    ColorDepth depth = ColorDepth::none;
    std::size_t columns = 80;  ///< of the terminal; wider matrices are broken into blocks
    attn::ScaleEnd end = attn::ScaleEnd::automatic;
    bool compact = false;  ///< two columns a cell, without digits
};

/// The tensor of a section as a grid of cells, shaded by value and labelled with the tokens along
/// its axes, and a legend. Weights and masks are shaded from 0 on; other numbers by sign and size.
/// Values that are not finite are grey. Without colours the grid alone, where a compact one has
/// glyphs that are the denser the larger the value is.
///
/// The document holds the tokens. More elements than the threshold show their corners only.
std::string heatmap_text(const attn::Section& section, const attn::Document& document,
                         const HeatmapChoices& choices);

}  // namespace app
