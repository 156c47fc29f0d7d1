#pragma once
#include "attn/core/plan/words.hpp"
#include "attn/show/render/cell_view.hpp"

namespace attn {

/// Kinds of figures: each tensor as shaded cells; the tokens of weights joined by lines; the
/// whole walk as boxes and arrows.
enum class FigureKind { matrix, arcs, flow };

/// The page that a figure is made for. `automatic` follows the reader's own setting where it is
/// shown by a browser, and is light elsewhere; `print` has no background and black ink.
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

struct FigureChoices {
    FigureKind kind = FigureKind::matrix;
    Theme theme = Theme::automatic;
    ScaleEnd end = ScaleEnd::automatic;
    PrintOptions options{};
    std::size_t columns = 0;   ///< matrices side by side; 0: as many as there is room for
    std::size_t width = 0;     ///< of the whole picture, in pixels; 0: as its cells need
    bool with_numbers = true;  ///< in the cells of matrices
    bool with_words = true;    ///< titles, formulas and axes
    bool embedded = false;     ///< a page as a fragment for another one
    /// The scripts of a live page beside its walk, by their ids: its core, the flags that it can
    /// turn, the model that it holds. None: no live page.
    std::vector<std::pair<std::string, std::string>> live{};
};

/// Writes the shown sections as one SVG picture, one figure below the other.
///
/// Range   the same document gives the same bytes. Text stays text. Tensors of up to 1024 cells
///         carry each cell's own element with its value; larger ones are drawn without digits.
/// Errors  ConfigError when there is nothing to draw: arcs need weights, flow needs a walk.
void render_svg(const Document& document, const FigureChoices& choices, const Sink& sink);

}  // namespace attn
