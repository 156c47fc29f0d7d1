#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace app {

/// Applies --color to the messages on standard error.
void color_messages(const std::string& when);

/// Writes `attn-explain: error: MESSAGE` to standard error, as one line. Controls in it, which may
/// come from a file name or a script, are written out.
void report_error(std::string_view message);

/// Keeps `attn-explain: note: MESSAGE` for release_notes(). An error drops what is kept: it is all
/// that a reader needs then.
void report_note(std::string_view message);
/// The same, written at once with those before it: of what begins to take long.
void report_note_now(std::string_view message);

/// Writes the notes so far to standard error, a line each. Standard output does this before its
/// first byte, so that a reader sees them first.
void release_notes();

/// One line on standard error that says how far long work has come. It is written only if that is
/// a terminal and the work has taken half a second already, and it is gone at the end.
class Progress {
public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` goes from 0 to 1; `next` says what is worked on.
    void show(double done, const std::string& next);
    void clear();

private:
    bool to_terminal_;
    bool visible_ = false;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace app
