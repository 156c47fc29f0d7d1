#pragma once
#include <string_view>

namespace app {

/// Writes `attn-explain: error: MESSAGE` to standard error, as one line.
void report_error(std::string_view message);

/// Keeps `attn-explain: note: MESSAGE` for release_notes(). An error drops what is kept: it is all
/// that a reader needs then.
void report_note(std::string_view message);

/// Writes the notes so far to standard error, a line each. Standard output does this before its
/// first byte, so that a reader sees them first.
void release_notes();

}  // namespace app
