#pragma once
#include <string>

/// A function that the page calls.
#define ATTN_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace app {

/// What the command has written so far.
extern std::string written;

}  // namespace app
