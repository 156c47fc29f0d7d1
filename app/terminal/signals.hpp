#pragma once
#include <string>

namespace app {

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
