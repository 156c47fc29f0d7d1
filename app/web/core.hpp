#pragma once
#include <string>

/// A function that the page calls.
#define ATTN_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace app {

/// The output of the command so far.
extern std::string written;

}  // namespace app
