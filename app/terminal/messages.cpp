#include "app/terminal/messages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

std::vector<std::string> pending_notes;
Progress* in_progress = nullptr;  // the line that is shown
std::string colors_when = "auto";

void report(std::string_view kind, std::string_view message) {
    attn::Ink ink;
    if (kind == "error") ink = ink_of(color_depth(colors_when, isatty(STDERR_FILENO) != 0));
    const std::string start = "attn-explain: ";
    // Below the message there may be the line that it quotes, and a caret under the place.
    const std::string quote = "\n  ";
    const std::size_t end = std::min(message.find(quote), message.size());
    std::string text(message.substr(0, end));
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::string line = start + std::string(kind) + ": " + attn::visible(text) + "\n";
    if (const auto size = terminal_size(STDERR_FILENO)) line = folded(line, size->columns);
    line.replace(start.size(), kind.size() + 1, ink.of(ink.mistake, std::string(kind) + ":"));
    if (end < message.size()) {
        line += attn::visible_lines(message.substr(end + 1), false) + "\n";
    }
    std::fwrite(line.data(), 1, line.size(), stderr);
}

constexpr std::chrono::milliseconds patience{500};

void write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

void color_messages(const std::string& when) {
    if (when == "always" || when == "never") colors_when = when;
}

void report_error(std::string_view message) {
    pending_notes.clear();
    report("error", message);
}

void report_note(std::string_view message) {
    const bool known = std::ranges::find(pending_notes, message) != pending_notes.end();
    if (!known) pending_notes.emplace_back(message);
}

void release_notes() {
    if (in_progress != nullptr) in_progress->clear();
    for (const std::string& note : pending_notes) report("note", note);
    pending_notes.clear();
}

void report_note_now(std::string_view message) {
    report_note(message);
    release_notes();
}

Progress::Progress()
    : to_terminal_(isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::show(double done, const std::string& next) {
    if (!to_terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
    constexpr int cells = 24;
    const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * cells);
    const std::string line = fmt::format("[{:#<{}}{:<{}}] {:3.0f}%  {}", "", full, "", cells - full,
                                         100 * std::clamp(done, 0.0, 1.0), next);
    const auto size = terminal_size(STDERR_FILENO);
    const std::size_t columns = size ? size->columns : 80;
    // A line that wraps could not be overwritten.
    visible_ = true;
    in_progress = this;
    write("\r\x1b[K" + line.substr(0, columns - 1));
}

void Progress::clear() {
    if (visible_) write("\r\x1b[K");
    visible_ = false;
    if (in_progress == this) in_progress = nullptr;
}

}  // namespace app
