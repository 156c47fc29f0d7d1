#pragma once
#include <vector>

#include "attn/plan/plan.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// The walks of the chunks, one after the other: each starts from its own rows of x and from the
/// keys and values that the chunks before it left.
///
/// Range   every row of each ledger is that of the whole walk. With the loops scores and weights
///         are so bit for bit, and the context wherever a chunk ends at an even number of keys: an
///         odd last key is added after the others (loop::Dot).
std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table);

/// The same up to the context, for Ledger::chunks; none where the plan has no chunks, or the table
/// a mistake, which may not fit a part of the tokens.
std::vector<Ledger> chunks_of_walk(const Plan& plan, const Ledger& whole, const StepTable& table);

}  // namespace attn
