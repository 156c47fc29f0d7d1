#include "app/terminal/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

namespace app {
namespace {

constexpr std::chrono::milliseconds patience{500};

std::size_t terminal_columns() {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

void write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

Progress::Progress()
    : to_terminal_(isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::show(double done, const std::string& next) {
    if (!to_terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
    constexpr int cells = 24;
    const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * cells);
    const std::string line = fmt::format("[{:#<{}}{:<{}}] {:3.0f}%  {}", "", full, "", cells - full,
                                         100 * std::clamp(done, 0.0, 1.0), next);
    // A line that wraps could not be overwritten.
    visible_ = true;
    write("\r\x1b[K" + line.substr(0, terminal_columns() - 1));
}

void Progress::clear() {
    if (visible_) write("\r\x1b[K");
    visible_ = false;
}

}  // namespace app
