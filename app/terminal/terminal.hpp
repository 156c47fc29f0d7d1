#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace app {

/// The value of an environment variable; empty when it is not set.
std::string environment(const char* name);

/// The size of the terminal of a file descriptor; nothing where that is no terminal, or does
/// not know its size.
struct TerminalSize {
    std::size_t rows, columns;
};
std::optional<TerminalSize> terminal_size(int descriptor);

/// Whether the terminal understands escape sequences: TERM is set, and not to dumb.
bool takes_escapes();

/// Whether the terminal can show a screen: it is known, its cursor can be moved, and, unless
/// `without_color` will do, it has at least eight colours.
bool has_screen(bool without_color);

/// The sequence that leaves a full screen, with plain text and a visible cursor. Empty before
/// ncurses has looked the terminal up.
std::string leaving_sequence();

}  // namespace app
