#pragma once
#include <vector>

#include "app/flags/flag.hpp"

namespace app {

/// The settings of a walk that have a file of their own.
std::vector<Flag> position_rows();
std::vector<Flag> trained_rows();
std::vector<Flag> cache_rows();

}  // namespace app
