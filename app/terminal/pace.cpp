#include "app/terminal/pace.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "app/terminal/pager.hpp"
#include "app/terminal/standard_output.hpp"

namespace app {

Pace::Pace() {
    Pager::forbid();
    if (isatty(STDOUT_FILENO) != 0) keys_ = std::fopen("/dev/tty", "re");
}

Pace::~Pace() {
    if (keys_ != nullptr) std::fclose(keys_);
}

void Pace::wait() {
    if (keys_ == nullptr) return;
    StandardOutput hint;
    hint.write("-- Enter for the next step --");
    hint.flush();
    int key = 0;
    do {
        key = std::fgetc(keys_);
    } while (key != '\n' && key != EOF);

    // The key has moved to the next line. What cannot move back leaves the hint where it is.
    const char* terminal = std::getenv("TERM");
    const bool moves = terminal != nullptr && std::string_view(terminal) != "dumb";
    if (key == EOF) {
        std::fclose(keys_);
        keys_ = nullptr;
        hint.write("\n");
    } else if (moves) {
        hint.write("\x1b[A\r\x1b[K");
    }
    hint.flush();
}

}  // namespace app
