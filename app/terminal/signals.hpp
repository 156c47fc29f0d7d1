#pragma once
#include <string>

namespace app {

/// From here on an interrupt, a termination or a hang-up removes the temporary files of outputs
/// that are not complete, and then ends the program as it would have.
void remove_temporaries_on_signals();

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
