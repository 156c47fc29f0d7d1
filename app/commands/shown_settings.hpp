#pragma once
#include "app/commands/diagnose_setup.hpp"
#include "attn/core/plan/given_sizes.hpp"

namespace app {

/// Starts a walk from the user's scores or weights and value, or from query and key. A scale that
/// the scaled scores reveal is used, because scores alone do not determine head-dim.
void begin_later(const attn::Ledger& named, const attn::SpecifiedSettings& settings,
                 DiagnosedWalk& requested);

/// Adds dropout if the file has the weights before and after it: weights that became 0 were
/// dropped.
void take_dropout(const attn::Ledger& named, DiagnosedWalk& requested);

}  // namespace app
