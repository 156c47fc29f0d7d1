#pragma once
#include <optional>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/backward/backward.hpp"

namespace app {

/// The rows of --backward and --loss.
std::vector<Flag> gradient_flags();

/// What --backward goes back from; nothing without it.
///
/// Errors  InputError for a file that cannot be read.
std::optional<attn::Loss> loss_of(const Arguments& arguments);

}  // namespace app
