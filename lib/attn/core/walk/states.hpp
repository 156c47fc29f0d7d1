#pragma once
#include <optional>
#include <set>
#include <string>

#include "attn/core/walk/step.hpp"

namespace attn {

/// Returns the axis along which a completed rule reads its previous row, if it reads itself along
/// no other.
std::optional<std::size_t> state_axis(const Rule& rule);

/// Returns the table without states that are not requested: if one later step reads row t of a
/// recurrence for its own row t, only a few rows of the state are in memory at a time, and that
/// step is computed along with them. A state of (8, 4096, 64, 64) is half a gigabyte, but the
/// tensor read from it is 8 MB.
///
/// Keeps about `max_numbers` numbers of a state at a time, but at least one row.
///
/// Range   the numbers of other steps do not change, nor does a table without such a step.
StepTable without_states(const StepTable& table, const Plan& plan,
                         const std::set<std::string>& kept, std::size_t max_numbers = 1 << 20);

}  // namespace attn
