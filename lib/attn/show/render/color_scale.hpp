#pragma once
#include <cstdint>
#include <string>

namespace attn {

/// A colour of the sRGB screen.
struct Color {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;
};

/// The background of the cells. On a dark page the large values are light, on a light page dark:
/// the larger, the further from the page.
enum class Page { dark, light };

/// Numbers that have a sign are shaded around zero, shares and truth values from zero on.
enum class ScaleKind { from_zero, around_zero };

/// The colour of a value, given as a share of the largest: one scale for terminal, figures and
/// pages.
///
///     from_zero    0 to 1, dark blue to light yellow (on a light page pale yellow to dark blue)
///     around_zero  -1 (blue) over 0 (pale) to 1 (orange): equal sizes are equally dark, and the
///                  hues are the two that every kind of colour vision tells apart
///
/// Range  lightness changes evenly along each half of a scale, so that equal steps of the value
///        look like equal steps and print in grey; shares beyond the ends are drawn as the ends;
///        nan, inf and -inf are greys, which neither scale contains.
Color scale_color(double share, ScaleKind kind, Page page);
/// The same on a terminal, whose page is not known: signed numbers are pale at zero there.
Color terminal_color(double share, ScaleKind kind);

/// Black or white, whichever is easier to read on `background`.
Color readable_on(Color background);

/// `#rrggbb`
std::string hex(Color color);

/// How many colours a figure draws a scale with: as many as are told apart.
inline constexpr int scale_levels = 41;

/// The class of a cell in a figure or page: `s0` to `s40`, `d0` to `d40`, `nan`, `inf`, `ninf`.
std::string scale_class(double share, ScaleKind kind);

/// A style sheet that gives each class its colours: `property` (`fill`, `background`) that of the
/// cell and `ink` (`fill`, `color`) that of a text inside `within` of it.
std::string scale_style(Page page, const std::string& property, const std::string& within,
                        const std::string& ink);

}  // namespace attn
