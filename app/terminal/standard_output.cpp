#include "app/terminal/standard_output.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "app/terminal/messages.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

bool forbidden = false;
KeptOutput* kept = nullptr;

/// Returns the program that a shell command runs: its first word after variable assignments.
std::string program_of(const std::string& command) {
    std::istringstream words(command);
    for (std::string word; words >> word;) {
        if (word.find('=') == std::string::npos) return word;
    }
    return {};
}

/// True if a shell finds a program.
bool exists(const std::string& program) {
    if (program.empty() || program.find('\'') != std::string::npos) return false;
    return std::system(("command -v '" + program + "' >/dev/null 2>&1").c_str()) == 0;
}

/// The command line of the pager; empty when there is none.
std::string pager_command() {
    const char* chosen = std::getenv("PAGER");
    const std::string command = chosen == nullptr ? "less -FRX" : chosen;
    const std::string program = program_of(command);
    return program == "cat" || !exists(program) ? std::string() : command;
}

/// Returns the columns that a text takes, not counting colours.
std::size_t width_of(std::string_view line) {
    std::string visible;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b') {
            i = std::min(line.find('m', i), line.size() - 1);
        } else {
            visible += line[i];
        }
    }
    return attn::display_width(visible);
}

bool is_longer_than_screen(std::string_view text) {
    const auto size = terminal_size(STDOUT_FILENO);
    if (!size) return false;
    std::size_t rows = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        rows += rows_of(text.substr(0, end), size->columns);
        if (rows >= size->rows) return true;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

constexpr std::size_t piece = std::size_t{1} << 16;

void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            throw ClosedPipe();
        } else if (errno != EINTR) {
            throw attn::OutputError(std::string("cannot write to standard output: ") +
                                    std::strerror(errno) + "; send it elsewhere");
        }
    }
}

}  // namespace

std::string folded(std::string_view text, std::size_t columns) {
    std::string result;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        // Break a command by a backslash before a flag.
        const bool is_command =
            line.starts_with("attn-explain ") || line.starts_with("$ attn-explain ");
        const std::string indent(std::min(line.find_first_not_of(' '), line.size()) + 4, ' ');
        for (std::size_t used = 0; !line.empty();) {
            const std::size_t end =
                line.find(is_command ? " --" : " ", line.find_first_not_of(' '));
            std::string_view part = line.substr(0, end);
            line.remove_prefix(part.size());
            if (used > 0 && used + width_of(part) > columns - (is_command ? 2 : 0)) {
                result += (is_command ? " \\\n" : "\n") + indent;
                used = indent.size();
                part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
            }
            result += part;
            used += width_of(part);
        }
        result += '\n';
    }
    return result;
}

std::size_t rows_of(std::string_view line, std::size_t columns) {
    return std::max(width_of(line) + columns - 1, columns) / columns;
}

KeptOutput::KeptOutput(bool for_screen) : before_(kept), for_screen_(for_screen && !is_for_file()) {
    kept = this;
}
KeptOutput::~KeptOutput() { kept = before_; }
bool KeptOutput::is_kept() { return kept != nullptr; }
bool KeptOutput::is_for_file() { return is_kept() && !kept->for_screen_; }

bool Pager::suits(std::string_view text) {
    if (forbidden || isatty(STDOUT_FILENO) == 0 || !takes_escapes()) return false;
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
    // With PAGER=less alone, colours would show as escapes. The user's own LESS is kept.
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
    // Ctrl-C goes to the pager; when the user quits it, writing fails.
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

void StandardOutput::write(std::string_view text) {
    // Fill the first piece before sending anything, because it decides about the pager.
    const std::size_t part = std::min(text.size(), piece - gathered_.size());
    gathered_ += text.substr(0, part);
    if (gathered_.size() < piece) return;
    flush();

    // Large pieces need not be copied.
    text.remove_prefix(part);
    if (text.size() < piece) {
        gathered_ = text;
    } else {
        send(text);
    }
}

void StandardOutput::flush() {
    release_notes();
    send(gathered_);
    gathered_.clear();
}

void StandardOutput::print(std::string_view text) {
    StandardOutput output;
    output.write(text);
    output.flush();
}

void StandardOutput::send(std::string_view text) {
    if (kept != nullptr) {
        kept->text += text;
        return;
    }
    if (!pager_.is_running() && Pager::suits(text)) pager_.start();
    write_all(pager_.is_running() ? pager_.descriptor() : STDOUT_FILENO, text);
}

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
    hint.write("-- Enter for the next step, q and Enter to end --");
    hint.flush();
    bool ends = false;
    int key = 0;
    do {
        key = std::fgetc(keys_);
        ends = ends || key == 'q';
    } while (key != '\n' && key != EOF);

    // The key has moved to the next line. A terminal that cannot move back keeps the hint.
    if (key == EOF) {
        std::fclose(keys_);
        keys_ = nullptr;
        hint.write("\n");
    } else if (takes_escapes()) {
        hint.write("\x1b[A\r\x1b[K");
    }
    hint.flush();
    if (ends) throw ClosedPipe();
}

}  // namespace app
