#include "app/terminal/terminal.hpp"

#include <sys/ioctl.h>

#include <cstdlib>

namespace app {

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

}  // namespace app
