#pragma once
#include <vector>

#include "app/flags/flag.hpp"

namespace app {

/// The settings of a walk that have a file of their own.
std::vector<Flag> input_rows();
std::vector<Flag> position_rows();
std::vector<Flag> trained_rows();
std::vector<Flag> cache_rows();
std::vector<Flag> number_rows();
std::vector<Flag> variant_rows();

/// Whether query, key and value have parameters, or are drawn themselves.
bool draws_parts(const attn::Plan& plan);

}  // namespace app
