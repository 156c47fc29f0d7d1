#pragma once
#include "attn/walk/walk.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// Walks the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

}  // namespace attn
