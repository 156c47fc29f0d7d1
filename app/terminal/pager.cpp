#include "app/terminal/pager.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "attn/tensor/error.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

bool forbidden = false;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

/// The program that a command runs: its first word, after the variables that it sets. The rest is
/// for the shell.
std::string program_of(const std::string& command) {
    std::istringstream words(command);
    for (std::string word; words >> word;) {
        if (word.find('=') == std::string::npos) return word;
    }
    return {};
}

/// Whether a program is on the path.
bool exists(const std::string& program) {
    if (program.empty()) return false;
    if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
    const std::string path = environment("PATH");
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        if (access((path.substr(start, end - start) + "/" + program).c_str(), X_OK) == 0) {
            return true;
        }
        start = end + 1;
    }
    return false;
}

/// The command line of the pager; empty when there is none.
std::string pager_command() {
    const char* chosen = std::getenv("PAGER");
    const std::string command = chosen == nullptr ? "less -FRX" : chosen;
    const std::string program = program_of(command);
    return program == "cat" || !exists(program) ? std::string() : command;
}

/// The rows of the screen that a line takes; colours take none.
std::size_t rows_of(std::string_view line, std::size_t columns) {
    std::string visible;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b') {
            i = std::min(line.find('m', i), line.size() - 1);
        } else {
            visible += line[i];
        }
    }
    const std::size_t width = attn::display_width(visible);
    return width == 0 ? 1 : (width + columns - 1) / columns;
}

bool is_longer_than_screen(std::string_view text) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return false;
    }
    std::size_t rows = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        rows += rows_of(text.substr(0, end), size.ws_col);
        if (rows >= size.ws_row) return true;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

}  // namespace

bool Pager::suits(std::string_view text) {
    if (forbidden || isatty(STDOUT_FILENO) == 0) return false;
    const std::string terminal = environment("TERM");
    if (terminal.empty() || terminal == "dumb") return false;
    return is_longer_than_screen(text) && !pager_command().empty();
}

void Pager::forbid() { forbidden = true; }

void Pager::start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw attn::OutputError(std::string("cannot start a pager: ") + std::strerror(errno) +
                                "; pass --no-pager");
    }
    const std::string command = pager_command();
    // A bare PAGER=less would show colours as escapes. Who has set LESS knows what they want.
    setenv("LESS", "FRX", 0);
    process_ = fork();
    if (process_ < 0) {
        const int reason = errno;
        close(ends[0]);
        close(ends[1]);
        process_ = 0;
        throw attn::OutputError(std::string("cannot start a pager: ") + std::strerror(reason) +
                                "; pass --no-pager");
    }
    if (process_ == 0) {
        dup2(ends[0], STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
    }
    close(ends[0]);
    input_ = ends[1];
    // An interrupt is for the pager; when its reader leaves, writing tells.
    on_interrupt_ = std::signal(SIGINT, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
}

void Pager::finish() {
    if (!is_running()) return;
    close(input_);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    std::signal(SIGINT, on_interrupt_);
}

}  // namespace app
