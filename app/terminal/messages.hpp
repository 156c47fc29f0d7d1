#pragma once
#include <string_view>

namespace app {

/// Writes `attn-explain: error: MESSAGE` to standard error, as one line.
void report_error(std::string_view message);

/// Writes `attn-explain: note: MESSAGE` to standard error, as one line.
void report_note(std::string_view message);

}  // namespace app
