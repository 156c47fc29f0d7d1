#pragma once
#include "attn/diagnose/search.hpp"

namespace attn {

/// Somebody's tensors as they come in.
struct Intake {
    Ledger given;   ///< what the walk starts from, some of theirs perhaps
    Ledger theirs;  ///< the others, which it is compared with
    std::vector<std::string> remarks{};
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
    mutable std::map<std::string, std::string> drawn{};  ///< what drawn_for has said
};

/// The first parameter that the step needs and nobody gave, where they gave others: its numbers are
/// chance, so another seed makes another step. Empty where there is none.
std::string drawn_for(const Case& about, const std::string& step);

/// Whether the query and key of a replay, some of them rotated already, have the product of ours.
bool have_same_product(const Case& about, Replay& theirs);

/// Whether something of theirs is right that would be wrong with this mistake.
bool is_refuted(const Case& about, const Diagnosis& diagnosis, const Mistake& mistake);

/// Their name may stand for a step before the one that matches, which the numbers are: says so.
void note_saved_before(const Case& about, const TheirTensor& theirs, const std::string& step,
                       Replay& replay, Match& match);

/// What one reading of all tensors comes to: what has no name weighs most, then a mistake, then
/// what is only written otherwise, then a step that the name would mean less likely.
struct Outcome {
    Diagnosis diagnosis;
    double cost = 0;
    std::vector<std::size_t> troubled;  ///< the tensors that have a finding or no verdict
};

/// What a tensor without a verdict, a step that two wrong tensors claim, a mistake, a harmless
/// difference, a tensor that is set aside and a less likely name add to the cost.
inline constexpr double of_unknown = 100, of_mutation = 60, of_clash = 50, of_unjudged = 40,
                        of_mistake = 10, of_harmless = 1, of_aside = 2, of_later_name = 0.05;
double weight_of(const Finding& finding);
double cost_of(const Diagnosis& diagnosis, const std::vector<TheirTensor>& theirs);

/// Notes the rule that their numbers follow, where one is near the right one.
void follow_a_rule(const Case& about, const TheirTensor& theirs, const std::string& step,
                   const Tensor& tensor, Replay& replay, Finding& finding);

/// Whether a step is made of weights, or is these.
bool is_result_step(const std::string& step);

/// A step that differs is harmless where the weights and all after them are right; `undone` says
/// that what is unknown of query and key leaves their product.
void mark_if_harmless(Finding& finding, Diagnosis& diagnosis, bool undone);

/// Replays a walk from somebody's own tensors, each read as one of its steps, and compares the
/// outcome with what they have; nothing once it would cost as much as `bound`. A thorough one tries
/// what takes long.
///
/// Shapes  theirs in the order of the walk.
std::optional<Outcome> examined(const Case& about, const std::vector<TheirTensor>& theirs,
                                double bound, bool thorough);

}  // namespace attn
