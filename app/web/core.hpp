#pragma once
#include <string>

/// Exports a function for the page.
#define ATTN_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace app {

/// The output of the command so far.
extern std::string written;

}  // namespace app
