#pragma once
#include "attn/walk/walk.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// The same in the order of one walk: query and key may be normalised after they rotate.
const StepTable& step_table(const Plan& plan);

/// Walks the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

}  // namespace attn
