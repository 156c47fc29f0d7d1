#pragma once

/// What differs from build to build. All other files of the tests are compiled alike with and
/// without the sanitizers, so that ccache compiles them once for both.
namespace build {

extern const char* const program;           // the path of attn-explain
extern const char* const starved;           // the path of attn_starved, see tests/starved.cpp
extern const char* const reference_folder;  // man pages and completions
extern const bool is_sanitized;

}  // namespace build
