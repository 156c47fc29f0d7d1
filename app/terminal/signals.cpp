#include "app/terminal/terminal.hpp"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "attn/io/output_files.hpp"

namespace app {
namespace {

// Those that end a program and that it can see, but for SIGXFSZ.
constexpr std::array fatal_signals{SIGINT,  SIGTERM, SIGHUP,    SIGQUIT,   SIGPIPE, SIGALRM,
                                   SIGUSR1, SIGUSR2, SIGXCPU,   SIGVTALRM, SIGPROF, SIGIO,
                                   SIGPWR,  SIGTRAP, SIGSTKFLT, SIGSEGV,   SIGABRT, SIGBUS,
                                   SIGFPE,  SIGILL,  SIGSYS};

// Read by signal handlers: plain data, set before the handlers are.
termios modes_before;
bool has_modes = false;
std::string leaving_text;  ///< of a full screen, while there is one

void clean_up_and_end(int signal) {
    attn::remove_pending_files();
    attn::remove_pending_folder();
    // A failure to write changes nothing: the program ends.
    if (::write(STDOUT_FILENO, leaving_text.data(), leaving_text.size()) >= 0 && has_modes) {
        tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void remove_temporaries_on_signals() {
    for (const int signal : fatal_signals) {
        // A signal that the caller chose to ignore (nohup) stays ignored.
        if (std::signal(signal, clean_up_and_end) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

void report_full_files() {
    // A handler that does nothing: unlike an ignored signal, a child program does not inherit it.
    std::signal(SIGXFSZ, [](int) {});
}

TerminalGuard::TerminalGuard() { has_modes = tcgetattr(STDIN_FILENO, &modes_before) == 0; }

void TerminalGuard::watch(std::string leaving) {
    leaving_text = std::move(leaving);
    for (const int signal : fatal_signals) std::signal(signal, clean_up_and_end);
}

TerminalGuard::~TerminalGuard() {
    for (const int signal : fatal_signals) std::signal(signal, SIG_DFL);
}

}  // namespace app
