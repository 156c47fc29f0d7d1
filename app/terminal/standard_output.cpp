#include "app/terminal/standard_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/terminal/messages.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

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

void StandardOutput::write(std::string_view text) {
    // The first piece decides about the pager, so that it is filled before anything is sent.
    const std::size_t part = std::min(text.size(), piece - gathered_.size());
    gathered_ += text.substr(0, part);
    if (gathered_.size() < piece) return;
    flush();

    // What is large already need not be copied.
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

void StandardOutput::send(std::string_view text) {
    if (!pager_.is_running() && Pager::suits(text)) pager_.start();
    write_all(pager_.is_running() ? pager_.descriptor() : STDOUT_FILENO, text);
}

}  // namespace app
