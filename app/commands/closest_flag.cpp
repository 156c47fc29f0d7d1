#include <algorithm>
#include <numeric>

#include "app/commands/commands.hpp"

namespace app {

std::string closest_flag(const std::string&) { return {}; }

}  // namespace app
