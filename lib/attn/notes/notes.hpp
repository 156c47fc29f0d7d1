#pragma once
#include <string>

#include "attn/walk/step.hpp"

namespace attn {
namespace notes {

/// What a note is about: one step of one walk. A note claims only what these numbers show, so that
/// it stays true when a step was replaced.
struct Subject : PlannedStep {
    const Ledger& ledger;  ///< holds this step and those before it
    const Tensor& tensor;  ///< the step's own
};

}  // namespace notes

/// One or two plain sentences on what a step just did and what to look at in these numbers: which
/// token attends most to which, what the mask hid, why a row is uniform.
///
/// `ledger` holds this step and those before it. Empty for a step that needs no words.
std::string step_note(const PlannedStep& of, const Ledger& ledger);

}  // namespace attn
