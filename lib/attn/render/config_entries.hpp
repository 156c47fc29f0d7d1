#pragma once
#include <string>
#include <utility>
#include <vector>

#include "attn/walk/plan.hpp"

namespace attn {

/// Every effective setting of a plan, defaults filled in, each with its value as JSON text. The
/// names and values are those of the flags, with underscores.
std::vector<std::pair<std::string, std::string>> config_entries(const Plan& plan);

}  // namespace attn
