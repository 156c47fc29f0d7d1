#pragma once
#include <span>

#include "attn/plan/draw_list.hpp"
#include "attn/plan/ledger.hpp"
#include "attn/plan/plan.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// Whether a walk also records the parts of softmax.
enum class Details { kept, skipped };

/// Performs every step of the table that applies, in order, and records every tensor.
///
/// `given` holds what was drawn or loaded; a step found there is taken, not computed.
Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table,
            Details details = Details::kept);

/// The same for some steps of a table, after those that the ledger holds already.
void perform(std::span<const Step> steps, const Plan& plan, const Ledger& given, Details details,
             Ledger& ledger);

}  // namespace attn
