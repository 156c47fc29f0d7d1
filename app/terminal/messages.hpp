#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace app {

/// Applies --color to the messages on standard error.
void color_messages(const std::string& when);

/// Writes `attn-explain: error: MESSAGE` to standard error, as one line. Escapes control
/// characters, which may come from a file name or a script.
void report_error(std::string_view message);

/// Keeps `attn-explain: note: MESSAGE` for release_notes(). An error drops all notes, because only
/// the error matters then.
void report_note(std::string_view message);
/// Writes a note at once, with the earlier ones, for work that takes long.
void report_note_now(std::string_view message);

/// Writes the notes so far to standard error, one per line. Standard output does this before its
/// first byte, so that a reader sees them first.
void release_notes();

/// One line on standard error with the progress of long work. It is written only on a terminal,
/// after half a second of work, and removed before the first byte of output and at the end.
class Progress {
public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` goes from 0 to 1; `next` names the current work.
    void show(double done, const std::string& next);
    void clear();

private:
    bool to_terminal_;
    bool visible_ = false;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace app
