#pragma once
#include <set>
#include <string>

#include "attn/core/walk/step.hpp"

namespace attn {

/// The table without the states that nobody has to see: of a recurrence that one later step reads,
/// row t where it makes row t, a few rows are held at a time, and that step goes along with them.
/// A state of (8, 4096, 64, 64) is half a gigabyte, and what is read from it 8 MB.
///
/// Some `numbers_held` numbers of a state are held at once, one row at least.
///
/// Range   the numbers of the other steps stay as they are. A table without such a step stays too.
StepTable without_states(const StepTable& table, const Plan& plan,
                         const std::set<std::string>& kept, std::size_t numbers_held = 1 << 20);

}  // namespace attn
