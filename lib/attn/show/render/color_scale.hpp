#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// A colour in sRGB.
struct Color {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;
};

/// The background of the cells. Large values are light on a dark page and dark on a light page: the
/// larger, the more contrast with the page.
enum class Page { dark, light };

/// Signed numbers are shaded around zero, shares and booleans from zero up.
enum class ScaleKind { from_zero, around_zero };

/// Returns the colour of a value, given as a share of the largest: the same scale for terminals,
/// figures and pages.
///
///     from_zero    0 to 1, dark to light blue (on a light page pale to dark blue)
/// around_zero  -1 (purple) over 0 (pale) to 1 (orange): equal sizes are equally dark, and the
///              two hues are distinct in every kind of colour vision
///
/// Range  lightness changes evenly along each half of a scale, so that equal steps of the value
///        look equal and are distinct in greyscale; shares beyond the ends have the colours of the
///        ends; nan, inf and -inf are greys, which neither scale contains.
Color scale_color(double share, ScaleKind kind, Page page);
/// Returns the colour for a terminal with unknown background: signed numbers are pale at zero.
Color terminal_color(double share, ScaleKind kind);

/// A part of attention that has one colour in pages, figures and terminals, so that it is
/// recognised without its name.
enum class ColorRole { none, query, key, value, weight };

/// Returns the part of a tensor by its name: `rotated_query` and `w_query` are queries.
ColorRole role_of(std::string_view name);

/// Returns the class of text in its colour: `query`; empty for other tensors.
std::string role_class(std::string_view name);

/// Returns the colour of a part as text on a page.
///
/// Range  contrast with the page at least 4.5; any two are distinct in every kind of colour vision
Color role_color(ColorRole role, Page page);
/// Returns the colour for text on a terminal with unknown background.
Color terminal_role_color(ColorRole role);

/// Returns the style sheet that names these colours, and those of the signs: `--query`, `--plus`.
std::string role_style(Page page);

/// Returns black or white, whichever is easier to read on `background`.
Color readable_on(Color background);

/// Formats a colour as `#rrggbb`.
std::string hex(Color color);

/// Number of colours of a scale in figures: as many as are distinguishable.
inline constexpr int scale_levels = 41;

/// Returns the class of a cell in a figure or page: `s0` to `s40`, `d0` to `d40`, `nan`, `inf`,
/// `ninf`.
std::string scale_class(double share, ScaleKind kind);

/// Returns a style sheet with the colours of each class: `property` (`fill`, `background`) for the
/// cell and `ink` (`fill`, `color`) for text inside its `within`.
std::string scale_style(Page page, const std::string& property, const std::string& within,
                        const std::string& ink);

}  // namespace attn
