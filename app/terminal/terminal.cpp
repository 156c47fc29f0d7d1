#include "app/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

// Last, for these headers define words such as lines and columns as macros.
#include <curses.h>
#include <term.h>

namespace app {
namespace {

std::string capability(const char* name) {
    const char* text = tigetstr(name);
    return text == nullptr || text == reinterpret_cast<const char*>(-1) ? "" : text;
}

}  // namespace

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

std::optional<TerminalSize> terminal_size(int descriptor) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return std::nullopt;
    }
    return TerminalSize{size.ws_row, size.ws_col};
}

bool takes_escapes() {
    const std::string name = environment("TERM");
    return !name.empty() && name != "dumb";
}

bool has_screen(bool without_color) {
    if (!takes_escapes()) return false;
    int error = 0;
    if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) return false;
    const bool able = !capability("cup").empty() && (without_color || tigetnum("colors") >= 8);
    // Whoever takes the screen looks the terminal up again, and this copy would leak.
    del_curterm(set_curterm(nullptr));
    return able;
}

std::string leaving_sequence() {
    return capability("sgr0") + capability("rmkx") + capability("rmcup") + capability("cnorm");
}

}  // namespace app
