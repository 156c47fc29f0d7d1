#pragma once

/// What differs between builds. All other tests are compiled the same way whether or not the
/// sanitizers are on, so ccache compiles them once for both.
namespace build {

extern const char* const program;           // the path of attn-explain
extern const char* const starved;           // the path of attn_starved, see tests/starved.cpp
extern const char* const reference_folder;  // man pages and completions
extern const bool is_sanitized;

}  // namespace build
