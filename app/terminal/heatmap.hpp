#pragma once
#include <string>

#include "app/terminal/color.hpp"
#include "attn/render/cell_view.hpp"

namespace app {

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
