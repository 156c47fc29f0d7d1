#pragma once
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/backward/backward.hpp"

namespace app {

/// The rows of --backward, --loss and --check-gradient.
std::vector<Flag> gradient_flags();

/// The table with the way back that --backward asks for; the table itself without it.
///
/// Errors  InputError for a file that cannot be read, and as attn::with_gradients.
attn::StepTable with_gradients(const Arguments& arguments, const attn::Plan& plan,
                               attn::StepTable table);

}  // namespace app
