#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace app {

/// A program that shows long output page by page: $PAGER, else less.
///
/// Nothing of it costs anything before the output is longer than the screen.
class Pager {
public:
    Pager() = default;
    ~Pager() { finish(); }
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

    /// Whether `text` is longer than the screen and there is a pager to show it with: standard
    /// output is a terminal that is not dumb, and nobody forbade it.
    static bool suits(std::string_view text);

    /// Forbids the pager from here on: --no-pager, and output that is read as it comes.
    static void forbid();

    bool is_running() const { return process_ > 0; }
    /// Starts it. Standard output goes to the descriptor then.
    void start();
    int descriptor() const { return input_; }

    /// Tells it that nothing more comes and waits until its reader has left.
    void finish();

private:
    pid_t process_ = 0;
    int input_ = -1;
    void (*on_interrupt_)(int) = nullptr;
};

}  // namespace app
