#pragma once
#include <vector>

#include "attn/judge/diagnose/diagnose.hpp"

namespace app {

/// Leaves x, and the matrix of the values, out if no matrix computes query and key from x and the
/// walk can begin later, or makes x all three. Returns what is not judged for that reason.
std::vector<attn::Skipped> drop_idle_x(attn::Ledger& file);

}  // namespace app
