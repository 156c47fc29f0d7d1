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

/// From here on any signal that ends the program removes the temporary files of outputs that are
/// not complete first. What the caller chose to ignore (nohup) stays ignored.
void remove_temporaries_on_signals();

/// From here on a file that may not grow any more (`ulimit -f`) is an error like a full disk, in
/// place of a signal that ends the program without a word.
void report_full_files();

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

}  // namespace app
