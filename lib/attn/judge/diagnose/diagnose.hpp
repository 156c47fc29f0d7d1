#pragma once
#include <string>
#include <vector>

#include "attn/core/cards/step_table.hpp"
#include "attn/judge/diagnose/verdict.hpp"

namespace attn {

/// Finds where the user's tensors leave the reference, and which catalogued mistake leads there.
///
/// `given` holds the inputs and parameters that both sides start from; `theirs` any of the steps
/// under names and in layouts that are in use (their_tensors.hpp). Each step is replayed from the
/// user's own tensors before it, first without a mistake, then with each one of the catalogue: so a
/// mistake upstream hides none downstream. Replays use only tensors with the planned shape and
/// dtype; other steps are compared with the reference alone.
/// Errors  ConfigError, listing both sides' names, when `theirs` has no step of this walk.
Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& theirs,
                   const DiagnoseOptions& options = {});

/// The diagnosis for people, and as JSON.
std::string diagnosis_text(const Diagnosis& diagnosis, const Ink& ink = {});
std::string diagnosis_json(const Diagnosis& diagnosis);

/// The title of a mistake and its effect, `Softmax runs over ...: columns sum to 1 ...`.
std::string described(const Mistake& mistake);

/// The rule that the numbers of an unknown finding follow, in a sentence; it must have one.
std::string followed_rule(const Finding& finding);

/// The fix of a finding's mistake in the language of the author, with the names of the author's
/// tensors; empty if there is none.
std::string fix_of(const Diagnosis& diagnosis, const Finding& finding);

/// The ids of mistakes, `a, b, c`.
std::string ids_of(const std::vector<const Mistake*>& mistakes);

}  // namespace attn
