#include "app/terminal/capabilities.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

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

bool has_screen(bool without_color) {
    const char* name = std::getenv("TERM");
    if (name == nullptr || *name == '\0' || std::string_view(name) == "dumb") return false;
    int error = 0;
    if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) return false;
    const bool able = !capability("cup").empty() && (without_color || tigetnum("colors") >= 8);
    // Whoever takes the screen looks the terminal up again, and would leave this copy behind.
    del_curterm(set_curterm(nullptr));
    return able;
}

std::string leaving_sequence() {
    return capability("sgr0") + capability("rmkx") + capability("rmcup") + capability("cnorm");
}

}  // namespace app
