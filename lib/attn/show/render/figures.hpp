#pragma once
#include "attn/core/plan/words.hpp"
#include "attn/show/render/cell_view.hpp"

namespace attn {

/// Kinds of figures: each tensor as shaded cells; the tokens of weights connected by lines; the
/// whole walk as boxes and arrows.
enum class FigureKind { matrix, arcs, flow };

/// The background that a figure is made for. `automatic` follows the reader's browser setting, and
/// is light elsewhere; `print` has no background and black ink.
enum class Theme { automatic, light, dark, print };

template <>
inline constexpr std::array<std::pair<std::string_view, FigureKind>, 3> words<FigureKind>{
    {{"matrix", FigureKind::matrix}, {"arcs", FigureKind::arcs}, {"flow", FigureKind::flow}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Theme>, 4> words<Theme>{
    {{"auto", Theme::automatic},
     {"light", Theme::light},
     {"dark", Theme::dark},
     {"print", Theme::print}}};
template <>
inline constexpr std::array<std::pair<std::string_view, ScaleEnd>, 3> words<ScaleEnd>{
    {{"row", ScaleEnd::row}, {"tensor", ScaleEnd::tensor}, {"fixed", ScaleEnd::fixed}}};

/// An image under rows of weights: each key is a tile, in row-major order, except for one class
/// token before them.
struct TileGrid {
    std::size_t rows = 0, columns = 0;
    std::string picture{};  ///< as a data URI; empty for white
};

struct FigureChoices {
    FigureKind kind = FigureKind::matrix;
    Theme theme = Theme::automatic;
    ScaleEnd end = ScaleEnd::automatic;
    PrintOptions options{};
    std::size_t columns = 0;         ///< matrices side by side; 0: as many as fit
    std::size_t width = 0;           ///< of the whole picture, in pixels; 0: as needed
    bool with_numbers = true;        ///< in the cells of matrices
    bool with_words = true;          ///< titles, formulas and axes
    std::optional<TileGrid> grid{};  ///< draws rows of weights as tiles
    bool embedded = false;           ///< a fragment to include in another page
    std::string next{};              ///< the next word of the model, as JSON; empty without one
    /// The scripts of a live page in addition to its walk, by id: its core, the flags that it can
    /// change, its model. Empty for other pages.
    std::vector<std::pair<std::string, std::string>> live{};
};

/// Writes the shown sections as one SVG picture, one figure below the other.
///
/// Range   the same document gives the same bytes. Text stays text. Tensors of up to 1024 cells
///         have an element with its value for each cell; larger ones are drawn without digits.
/// Errors  ConfigError if there is nothing to draw: arcs need weights, flow needs a walk; or if the
///         keys are not those of the grid.
void render_svg(const Document& document, const FigureChoices& choices, const Sink& sink);

}  // namespace attn
