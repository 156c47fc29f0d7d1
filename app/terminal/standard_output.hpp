#pragma once
#include <sys/types.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace app {

/// Returns the text in lines of at most n columns, broken between words, and for a command before
/// its flags; continuation lines are indented.
std::string folded(std::string_view text, std::size_t columns);

/// Returns the rows of a terminal that a line takes, not counting colours.
std::size_t rows_of(std::string_view line, std::size_t columns);

/// Captures standard output during its lifetime; with several, the innermost one does. Commands
/// format text as for a terminal if `for_screen` is true, else as for a file.
class KeptOutput {
public:
    explicit KeptOutput(bool for_screen = true);
    ~KeptOutput();
    KeptOutput(const KeptOutput&) = delete;
    KeptOutput& operator=(const KeptOutput&) = delete;

    static bool is_kept();
    static bool is_for_file();
    std::string text;

private:
    KeptOutput* before_;
    bool for_screen_;
};

/// A program that shows long output page by page: $PAGER, else less.
///
/// Costs nothing as long as the output fits on the screen.
class Pager {
public:
    Pager() = default;
    ~Pager() { finish(); }
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

    /// True if `text` is longer than the screen and a pager can show it: standard output is a
    /// terminal that is not dumb, and the pager was not forbidden.
    static bool suits(std::string_view text);

    /// Forbids the pager from now on: for --no-pager, and for output that is read as it is written.
    static void forbid();

    bool is_running() const { return process_ > 0; }
    /// Starts the pager. Standard output then goes to the descriptor.
    void start();
    int descriptor() const { return input_; }

    /// Closes its input and waits until the user has quit it.
    void finish();

private:
    pid_t process_ = 0;
    int input_ = -1;
    void (*on_interrupt_)(int) = nullptr;
};

/// Thrown when the reader of standard output has closed the pipe, or quit the pager.
class ClosedPipe : public std::exception {};

/// Standard output, written in large pieces. Output that is longer than the screen
/// of a terminal goes through a pager.
///
/// Errors  OutputError with the system's reason; ClosedPipe if the reader has closed the pipe.
class StandardOutput {
public:
    void write(std::string_view text);
    void flush();
    /// Writes a complete text.
    static void print(std::string_view text);

private:
    void send(std::string_view text);

    std::string gathered_;
    Pager pager_;
};

/// Waits for Enter between the parts of an output, for presentations.
///
/// Keys are read from the terminal itself, even if standard input is something else. If the output
/// or the keys have no terminal, and after the end of input, it does not wait.
class Pace {
public:
    Pace();
    ~Pace();
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;

    /// Shows a hint, waits for Enter and removes the hint.
    /// Errors  ClosedPipe after q and Enter.
    void wait();

private:
    std::FILE* keys_ = nullptr;
};

}  // namespace app
