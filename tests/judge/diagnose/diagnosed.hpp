#pragma once
#include <algorithm>
#include <string>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

/// Tensors as a user saves them from a walk, and their diagnosis.
namespace attn::testing {

/// The computed steps of a walk, as a user might have saved them.
inline Ledger computed_steps(const Ledger& ledger) {
    Ledger steps;
    for (const auto& [name, tensor] : ledger.entries()) {
        const Step& step = find_step(step_table(), name);
        if (step.kind == Step::Kind::computed) steps.record(name, tensor);
    }
    return steps;
}

/// True if a finding names the mistake, or lists it among those indistinguishable from its own.
inline bool is_named(const Finding& finding, const std::string& id) {
    if (finding.mistake() == nullptr) return false;
    return finding.mistake()->id == id ||
           std::ranges::count(finding.as(Role::ties), id, &Mistake::id) > 0;
}

inline bool names(const Diagnosis& diagnosis, const Mistake& mistake) {
    return !diagnosis.findings.empty() && is_named(diagnosis.findings.front(), mistake.id);
}

/// A causal walk of two heads over several samples.
inline WalkConfig causal_config() {
    WalkConfig config = configured("heads 2, seq-len 5, batch 3, head-dim 3, mask causal");
    return config;
}

}  // namespace attn::testing
