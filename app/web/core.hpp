#pragma once
#include <string>

namespace app {

/// What the command has written so far.
extern std::string written;

}  // namespace app
