#pragma once
#include <map>
#include <span>
#include <string>

#include "attn/core/walk/excerpt.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {
namespace notes {

/// The subject of a note: one step of one walk, or an excerpt of it. A note claims only what these
/// numbers show, so that it stays true when a step was replaced.
struct Subject : PlannedStep {
    const Ledger& ledger;    ///< holds this step and those before it, cut to the excerpt
    const Tensor& tensor;    ///< the step's own
    const Excerpt& excerpt;  ///< where rows and columns of these lie in the whole walk
    /// Of a whole walk in chunks: those of walk_chunks() up to the context.
    std::span<const Ledger> chunks{};
};

}  // namespace notes

/// The steps before a step that mistakes have replaced, with the ids of these.
std::map<std::string, std::string> mistakes_behind(const PlannedStep& of);

/// The title of a step, which says what mistakes it follows.
Prose told_title(const PlannedStep& of);

/// True if step_note() has sentences on a step, which speak of right numbers: not after a mistake.
bool has_note(const PlannedStep& of);

/// One or two plain sentences on what a step just did and what to look at in these numbers: which
/// token attends most to which, what the mask hid, why a row is uniform.
///
/// `ledger` holds this step and those before it; of an excerpt, what it cuts out of them.
std::string step_note(const PlannedStep& of, const Ledger& ledger, const Excerpt& excerpt = {},
                      std::span<const Ledger> chunks = {});

/// The same for what `place` takes of the step's tensor, from the ledger of the whole walk.
std::string step_note(const PlannedStep& of, const Ledger& ledger,
                      const std::vector<AxisPart>& place);

}  // namespace attn
