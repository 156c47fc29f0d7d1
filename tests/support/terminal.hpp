#pragma once
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/program.hpp"

/// A terminal of a given size to run a program in, send keys to and read screens from: tmux, with a
/// server of its own.
class Terminal {
public:
    /// Starts `command` in sh, where `attn-explain` is the program under test. TERM is tmux's own,
    /// unless the command sets it.
    Terminal(const std::string& command, int columns = 80, int rows = 24) {
        static int count = 0;
        socket_ = "attn-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
        std::filesystem::create_symlink(build::program, folder_.path() / "attn-explain");
        const std::string script = folder_ / "script";
        std::ofstream(script) << "PATH='" << folder_.path().string() << "':\"$PATH\"\n"
                              << "unset NO_COLOR FORCE_COLOR COLORTERM LINES COLUMNS\n"
                              << "cd '" ATTN_SOURCE_DIR "'\n"
                              << command << "\necho '[ended]'\nexec sleep 1000\n";
        tmux("-f /dev/null new-session -d -x " + std::to_string(columns) + " -y " +
             std::to_string(rows) + " 'sh " + script + "'");
    }
    ~Terminal() { tmux("kill-server"); }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Sends keys by tmux's names (`n`, `Right`, `Enter`, `C-c`), separated by spaces.
    void press(const std::string& keys) { tmux("send-keys " + keys); }
    void type(const std::string& text) { tmux("send-keys -l -- '" + text + "'"); }

    void resize(int columns, int rows) {
        tmux("resize-window -x " + std::to_string(columns) + " -y " + std::to_string(rows));
    }

    /// The current screen, without spaces at the ends of its lines. `escapes` keeps the colours.
    std::string screen(bool escapes = false) {
        const std::string path = folder_ / "screen";
        tmux(std::string("capture-pane -p ") + (escapes ? "-e " : "") + "> '" + path + "'");
        return program::read_file(path);
    }

    /// Waits until the screen contains `text`, and then until it stops changing. Fails after ten
    /// seconds.
    std::string wait_for(const std::string& text) {
        std::string last;
        for (int tries = 0; tries < 500; ++tries) {
            const std::string now = screen();
            if (now.find(text) != std::string::npos && now == last) return now;
            last = now;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        FAIL_CHECK("the screen never held '" << text << "':\n" << last);
        return last;
    }

    /// The path of a file, for the command, in a folder of its own.
    std::string file(const std::string& name) const { return folder_ / name; }

private:
    void tmux(const std::string& arguments) const {
        const std::string command =
            "env -u TMUX LC_ALL=C.UTF-8 tmux -u -L " + socket_ + " " + arguments;
        const bool expected_to_end = arguments == "kill-server";
        const int status = std::system(command.c_str());
        if (!expected_to_end) REQUIRE_MESSAGE(status == 0, command);
    }

    program::Folder folder_;
    std::string socket_;
};
