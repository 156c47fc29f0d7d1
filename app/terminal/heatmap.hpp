#pragma once
#include <string>

#include "app/terminal/color.hpp"
#include "attn/render/document.hpp"

namespace app {

/// How a heatmap is drawn.
struct HeatmapChoices {
    attn::PrintOptions options;
    ColorDepth depth = ColorDepth::none;
    std::size_t columns = 80;  ///< of the terminal; wider matrices are broken into blocks
};

/// The tensor of a section as a grid of cells, shaded by value and labelled with the tokens along
/// its axes, and a legend. Weights and masks run from 0 to 1; other numbers are shaded by sign and
/// size, as part of the largest. What is not finite is grey. Without colours the grid alone.
///
/// The document holds the tokens. More elements than the threshold show their corners only.
std::string heatmap_text(const attn::Section& section, const attn::Document& document,
                         const HeatmapChoices& choices);

}  // namespace app
