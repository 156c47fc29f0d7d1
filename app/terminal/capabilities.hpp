#pragma once
#include <string>

namespace app {

/// Whether the terminal can show a screen: it is known, its cursor can be moved, and, unless
/// `without_color` will do, it has at least eight colours.
bool has_screen(bool without_color);

/// What the terminal is sent to leave a full screen, with plain text and a visible cursor. Empty
/// before ncurses has looked the terminal up.
std::string leaving_sequence();

}  // namespace app
