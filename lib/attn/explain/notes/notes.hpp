#pragma once
#include <map>
#include <span>
#include <string>

#include "attn/core/walk/excerpt.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {
namespace notes {

/// The subject of a note: one step of one walk, or an excerpt of it. A note claims only what these
/// numbers show, so that it stays true if a step was replaced.
struct Subject : PlannedStep {
    const Ledger& ledger;    ///< this step and earlier ones, cut to the excerpt
    const Tensor& tensor;    ///< the step's own
    const Excerpt& excerpt;  ///< the place of these rows and columns in the whole walk
    /// For a whole walk in chunks: the results of walk_chunks() up to the context.
    std::span<const Ledger> chunks{};
};

}  // namespace notes

/// Returns the earlier steps that mistakes have replaced, with the ids of the mistakes.
std::map<std::string, std::string> mistakes_in_step(const PlannedStep& of);

/// Returns the title of a step, which mentions mistakes in earlier steps.
Prose displayed_title(const PlannedStep& of);

/// True if step_note() has sentences on a step. They describe right numbers: none after a mistake.
bool has_note(const PlannedStep& of);

/// Returns one or two sentences on a step and its numbers: which token attends most to which, which
/// cells the mask hides, why a row is uniform.
///
/// `ledger` has this step and earlier ones; for an excerpt, cut to it.
std::string step_note(const PlannedStep& of, const Ledger& ledger, const Excerpt& excerpt = {},
                      std::span<const Ledger> chunks = {});

/// Returns the note on the part `place` of the step's tensor, from the ledger of the whole walk.
std::string step_note(const PlannedStep& of, const Ledger& ledger,
                      const std::vector<AxisPart>& place);

}  // namespace attn
