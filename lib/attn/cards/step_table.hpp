#pragma once
#include "attn/walk/walk.hpp"

namespace attn {

/// The reference table: attention, step by step.
const StepTable& step_table();

/// The same of one walk: query and key may be normalised after they rotate, and rules of the user
/// take the place of steps.
///
/// Errors  ConfigError as with_rules.
const StepTable& step_table(const Plan& plan);

/// Walks the reference table.
Ledger walk(const Plan& plan, const Ledger& given);

}  // namespace attn
