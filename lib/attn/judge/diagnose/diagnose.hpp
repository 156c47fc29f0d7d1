#pragma once
#include <string>
#include <vector>

#include "attn/core/cards/step_table.hpp"
#include "attn/judge/diagnose/verdict.hpp"

namespace attn {

/// Finds where the user's tensors leave the reference, and which catalogued mistake explains it.
///
/// `given` has the inputs and parameters that both sides start from; `user_tensors` has any of the
/// steps, under common names and in common layouts (user_tensors.hpp). Each step is replayed from
/// the user's own earlier tensors, first without a mistake, then with each one of the catalogue: a
/// mistake upstream does not hide one downstream. Replays use only tensors with the planned shape
/// and dtype; other steps are compared with the reference alone.
/// Errors  ConfigError, listing both sides' names, if `user_tensors` has no step of this walk.
Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& user_tensors,
                   const DiagnoseOptions& options = {});

/// Formats the diagnosis as text for people, and as JSON.
std::string diagnosis_text(const Diagnosis& diagnosis, const Ink& ink = {});
std::string diagnosis_json(const Diagnosis& diagnosis);

/// The title of a mistake and its effect, `Softmax runs over ...: columns sum to 1 ...`.
std::string described(const Mistake& mistake);

/// Describes in a sentence the rule that an unknown finding's numbers follow. Requires such a rule.
std::string followed_rule(const Finding& finding);

/// Returns the fix of a finding's mistake for the author's library, with the author's tensor names;
/// empty if there is none.
std::string fix_of(const Diagnosis& diagnosis, const Finding& finding);

/// Returns the ids of mistakes; joined, `a, b, c`.
std::vector<std::string> ids_in(const std::vector<const Mistake*>& mistakes);
std::string ids_of(const std::vector<const Mistake*>& mistakes);

/// Reports steps as undecided if a tolerance would accept zeros in their place.
void refuse_wide_tolerance(const DiagnoseOptions& options, Diagnosis& diagnosis);

}  // namespace attn
