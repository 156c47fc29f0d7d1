#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "attn/ground/text/text_pieces.hpp"
#include "attn/show/render/cell_view.hpp"
#include "attn/show/render/color_scale.hpp"

namespace app {

/// The value of an environment variable; empty when it is not set.
std::string environment(const char* name);

/// The size of the terminal of a file descriptor; nothing if that is no terminal, or does
/// not know its size.
struct TerminalSize {
    std::size_t rows, columns;
};
std::optional<TerminalSize> terminal_size(int descriptor);

/// True if the terminal understands escape sequences: TERM is set, and not to dumb.
bool takes_escapes();

/// True if the terminal can show a screen: it is known, its cursor can be moved, and, unless
/// `without_color` will do, it has at least eight colours.
bool has_screen(bool without_color);

/// The sequence that leaves a full screen, with plain text and a visible cursor. Empty before
/// ncurses has looked the terminal up.
std::string leaving_sequence();

/// From here on any signal that ends the program removes the temporary files of outputs that are
/// not complete first. Signals that the caller ignores (nohup) stay ignored.
void remove_temporaries_on_signals();

/// From here on a file that may not grow any more (`ulimit -f`) is an error like a full disk, in
/// place of a signal that ends the program without a word.
void report_full_files();

/// Rules within rules may take 1 MB of stack: a lower limit (`ulimit -s`) is raised.
///
/// Errors  Error when it may not be.
void ensure_stack();

/// Brings the terminal back to how it was when the program is ended by a signal: an interrupt, a
/// termination, or a crash. The temporary files of outputs that are not complete are removed too.
///
/// The constructor reads the modes of the terminal, so it comes before anything changes them;
/// watch() comes after whatever else handles signals. There is one guard at a time.
class TerminalGuard {
public:
    TerminalGuard();
    ~TerminalGuard();
    TerminalGuard(const TerminalGuard&) = delete;
    TerminalGuard& operator=(const TerminalGuard&) = delete;

    /// From here on a fatal signal writes `leaving` to the terminal, restores its modes, and then
    /// ends the program as it would have.
    void watch(std::string leaving);
};

/// How many colours the output may use.
enum class ColorDepth { none, indexed, full };

/// The colours that --color auto, always or never gives. `to_terminal`: the output is a terminal.
///
/// With auto, NO_COLOR forbids colour, FORCE_COLOR requests it (0 forbids it too), and otherwise a
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
/// Values that are not finite are grey. Without colours only the grid is drawn; a compact one uses
/// denser glyphs for larger values.
///
/// The document holds the tokens. More elements than the threshold show their corners only.
std::string heatmap_text(const attn::Section& section, const attn::Document& document,
                         const HeatmapChoices& choices);

}  // namespace app
