#pragma once
#include "attn/diagnose/intake.hpp"
#include "attn/diagnose/search.hpp"

namespace attn {

/// The answer of a search: a match, or why there is none.
struct Found {
    std::optional<Match> match;
    Finding unexplained;
};

/// What all readings of somebody's tensors have in common.
struct Case {
    const Plan& plan;
    const DiagnoseOptions& options;
    Intake intake;
    Judge judge;
    Candidates candidates;
    Replay replay;
    std::vector<Screen> screens;
    /// What searches have found, by what they started from: readings share most of them.
    mutable std::map<std::string, Found> found{};
};

/// What one reading of all tensors comes to: what has no name weighs most, then a mistake, then
/// what is only written otherwise, then a step that the name would mean less likely.
struct Outcome {
    Diagnosis diagnosis;
    double cost = 0;
    std::vector<std::size_t> troubled;  ///< the tensors that have a finding or no verdict
};

/// Replays a walk from somebody's own tensors, each read as one of its steps, and compares the
/// outcome with what they have; nothing once it would cost as much as `bound`. A thorough one tries
/// what takes long.
///
/// Shapes  theirs in the order of the walk.
std::optional<Outcome> examined(const Case& about, const std::vector<TheirTensor>& theirs,
                                double bound, bool thorough);

}  // namespace attn
