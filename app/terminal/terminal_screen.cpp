// Included last, because these headers define words such as lines and columns as macros.

#include "app/terminal/terminal.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <curses.h>
#include <sys/resource.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"

namespace app {
namespace {

std::string capability(const char* name) {
    const char* text = tigetstr(name);
    return text == nullptr || text == reinterpret_cast<const char*>(-1) ? "" : text;
}

}  // namespace

bool has_screen(bool without_color) {
    if (!takes_escapes()) return false;
    int error = 0;
    if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) return false;
    const bool able = !capability("cup").empty() && (without_color || tigetnum("colors") >= 8);
    // The code that opens the screen looks up the terminal again, and this copy would leak.
    del_curterm(set_curterm(nullptr));
    return able;
}

std::string leaving_sequence() {
    return capability("sgr0") + capability("rmkx") + capability("rmcup") + capability("cnorm");
}

namespace {

// The catchable signals that end a program, except for SIGXFSZ.
constexpr std::array fatal_signals{SIGINT,  SIGTERM, SIGHUP,    SIGQUIT,   SIGPIPE, SIGALRM,
                                   SIGUSR1, SIGUSR2, SIGXCPU,   SIGVTALRM, SIGPROF, SIGIO,
                                   SIGPWR,  SIGTRAP, SIGSTKFLT, SIGSEGV,   SIGABRT, SIGBUS,
                                   SIGFPE,  SIGILL,  SIGSYS};

// Read by signal handlers: plain data, set before the handlers.
termios modes_before;
bool has_modes = false;
std::string leaving_text;  ///< of a full screen, while there is one

void clean_up_and_end(int signal) {
    attn::remove_pending();
    // A failed write is ignored, because the program ends.
    if (::write(STDOUT_FILENO, leaving_text.data(), leaving_text.size()) >= 0 && has_modes) {
        tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void remove_temporaries_on_signals() {
    for (const int signal : fatal_signals) {
        // A signal that the caller ignores (nohup) or a sanitizer handles keeps its handler.
        struct sigaction before {};
        const bool is_default =
            ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
        if (is_default) std::signal(signal, clean_up_and_end);
    }
}

void report_full_files() {
    // A handler that does nothing: unlike an ignored signal, a child program does not inherit it.
    std::signal(SIGXFSZ, [](int) {});
}

void ensure_stack() {
    constexpr rlim_t least = 2 << 20, usual = 8 << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least) return;
    const std::string given = std::to_string(limit.rlim_cur / 1024);
    limit.rlim_cur = std::min(limit.rlim_max, usual);
    if (limit.rlim_cur < least || ::setrlimit(RLIMIT_STACK, &limit) != 0) {
        throw attn::Error("a stack of " + given +
                          " KB is too small: raise it, as ulimit -s 8192 does");
    }
}

TerminalGuard::TerminalGuard() { has_modes = tcgetattr(STDIN_FILENO, &modes_before) == 0; }

void TerminalGuard::watch(std::string leaving) {
    leaving_text = std::move(leaving);
    for (const int signal : fatal_signals) std::signal(signal, clean_up_and_end);
}

TerminalGuard::~TerminalGuard() {
    has_modes = false;
    leaving_text.clear();
}

}  // namespace app
