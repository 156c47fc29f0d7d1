#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "attn/ground/text/text_pieces.hpp"
#include "attn/show/render/cell_view.hpp"
#include "attn/show/render/color_scale.hpp"

namespace app {

/// Returns the value of an environment variable; empty if it is not set.
std::string environment(const char* name);

/// Returns the size of a file descriptor's terminal; nullopt if it is not a terminal, or its size
/// is unknown.
struct TerminalSize {
    std::size_t rows, columns;
};
std::optional<TerminalSize> terminal_size(int descriptor);

/// True if the terminal understands escape sequences: TERM is set, and not to dumb.
bool takes_escapes();

/// True if the terminal can show a full screen: it is known, its cursor can be moved, and it has at
/// least eight colours unless `without_color` is true.
bool has_screen(bool without_color);

/// Returns the sequence that leaves a full screen, with plain text and a visible cursor. Empty
/// until ncurses has looked up the terminal.
std::string leaving_sequence();

/// Removes temporary files of incomplete outputs on any signal that ends the program from now on.
/// Signals that the caller ignores (nohup) stay ignored.
void remove_temporaries_on_signals();

/// Reports a file size limit (`ulimit -f`) as an error like a full disk, instead of ending silently
/// on a signal.
void report_full_files();

/// Raises a low stack limit (`ulimit -s`): nested rules may need 1 MB of stack.
///
/// Errors  Error if the limit cannot be raised.
void ensure_stack();

/// Restores the terminal if a signal ends the program: an interrupt, a termination, or a crash.
/// Removes temporary files of incomplete outputs, too.
///
/// The constructor reads the modes of the terminal, so construct it before anything changes them;
/// call watch() after any other code that handles signals. Only one guard may exist at a time.
class TerminalGuard {
public:
    TerminalGuard();
    ~TerminalGuard();
    TerminalGuard(const TerminalGuard&) = delete;
    TerminalGuard& operator=(const TerminalGuard&) = delete;

    /// On a fatal signal, writes `leaving` to the terminal, restores its modes, and then ends the
    /// program by that signal.
    void watch(std::string leaving);
};

/// The number of colours that the output may use.
enum class ColorDepth { none, indexed, full };

/// Returns the colours for --color auto, always or never. `to_terminal`: the output is a terminal.
///
/// With auto, NO_COLOR forbids colour, FORCE_COLOR requests it (0 forbids it too), and otherwise a
/// terminal that is not dumb has it. COLORTERM=truecolor or 24bit, or FORCE_COLOR=3, gives 24 bits;
/// otherwise there are 256 colours.
/// Errors  ConfigError for another word.
ColorDepth color_depth(const std::string& when, bool to_terminal);

/// Returns the index of the nearest of the 240 fixed colours of a 256-colour terminal.
int color_index(attn::Color color);

/// Colours `text` with a background and a readable foreground: both are set, so that the terminal's
/// own colours do not matter. Returns the plain text with ColorDepth::none.
std::string colored(const std::string& text, attn::Color background, ColorDepth depth);

/// Draws two cells, one above the other, in one character; without `lower` only half of it.
std::string two_colors(attn::Color upper, std::optional<attn::Color> lower, ColorDepth depth);

/// Returns the text styles: headings bold, formulas dim, mistakes red, changed digits underlined.
attn::Ink ink_of(ColorDepth depth);

/// Settings of a heatmap.
struct HeatmapChoices {
    attn::PrintOptions options;
    ColorDepth depth = ColorDepth::none;
    std::size_t columns = 80;  ///< of the terminal; wider matrices are broken into blocks
    attn::ScaleEnd end = attn::ScaleEnd::automatic;
    bool compact = false;  ///< small pictures side by side, without digits
};

/// Draws the tensor of a section as a grid of cells, shaded by value and labelled with the tokens
/// along its axes, and a legend. Weights and masks are shaded from 0 up; other numbers by sign and
/// size. Non-finite values are grey. Without colours only the grid is drawn; a compact one uses
/// denser glyphs for larger values.
///
/// The document has the tokens. Tensors with more elements than the threshold show only corners; a
/// compact one by default shows more.
std::string heatmap_text(const attn::Section& section, const attn::Document& document,
                         const HeatmapChoices& choices);

/// Draws a tensor as a compact heatmap: its matrices side by side, with one scale below them.
std::string compact_heatmap(const attn::Section& section, const attn::Document& document,
                            const attn::Tensor& tensor, const HeatmapChoices& choices);

/// Returns the colour scale between its ends, in one line.
std::string scale_legend(const attn::CellView& view, ColorDepth depth);

}  // namespace app
