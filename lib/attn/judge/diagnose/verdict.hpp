#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/cards/step_table.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/diagnose/costs.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

struct DiagnoseOptions {
    /// Number of decimals, or of significant digits, of numbers copied from a screen.
    std::optional<int> decimals, digits;
    /// The tolerance; without it, the bound of rounding.
    std::optional<Tolerance> tolerance;
    /// Tries two mistakes at once if no single one matches.
    bool pairs = false;
    /// Maps the user's tensor names to step names, for names that we do not recognise.
    std::map<std::string, std::string> steps;
    /// The walk starts from the user's query, key and value, as no parameters make them.
    bool takes_projections = false;
    /// A remark names the tensors that the walk starts from.
    bool says_what_is_taken = true;
    /// The user began from a probe: there are no parameters except those of the walk.
    bool has_all_inputs = false;
    /// Gradients are judged afterwards, so the forward pass may have nothing to compare.
    bool goes_back = false;
    /// The walk is shown, even if there is nothing to compare.
    bool may_be_empty = false;
    /// Nothing that costs more is looked for: see Diagnosis::cost.
    double bound = HUGE_VAL;
    /// Progress callback: current step, fraction of its mistakes that were tried.
    std::function<void(const std::string& step, double done)> progress;
};

/// Result of comparing one of the user's tensors with ours.
enum class Verdict { right, wrong, shape, not_compared };

/// One of the user's tensors, judged twice.
struct StepVerdict {
    std::string name;
    std::string theirs_name;  ///< its name in the user's file
    std::string layout;       ///< how its axes were read, empty if they are ours
    Shape theirs;
    Shape expected;
    /// Against the reference walk.
    Verdict global = Verdict::right;
    double global_difference = 0;
    bool is_systematic = false;  ///< every number differs from the reference by one factor
    /// Against the same operation on the user's own tensors before it.
    Verdict local = Verdict::right;
    double local_difference = 0;
    bool harmless = false;  ///< it differs, and the results are still correct
    double epsilon = 0;     ///< of the 16-bit type that it has been through
    /// The local difference beside the bound of rounding; the global one if all steps so far are
    /// right.
    std::optional<WithinBall> within{};
};

/// What a mistake is to the finding that names it.
enum class Role {
    makes,    ///< it makes the tensor, alone or (a hypothesis only) with the second of this role
    beside,   ///< a harmless difference on top of which the others make it
    ties,     ///< it gives the same numbers here; the nearest comes first
    pairs,    ///< it and the next of this role give the same numbers
    nearest,  ///< the nearest that does not match
};

/// The mistakes that a finding names, each in a role.
struct NamedMistakes {
    std::vector<std::pair<Role, const Mistake*>> named{};

    void add(Role role, const Mistake* mistake) { named.emplace_back(role, mistake); }
    std::vector<const Mistake*> as(Role role) const;
    /// The first that makes the tensor; nullptr if no known one does.
    const Mistake* mistake() const;
    /// All that were made: harmless differences, then mistakes.
    std::vector<const Mistake*> made() const;
};

/// The explanation of one step that is wrong on its own.
struct Finding : NamedMistakes {
    std::string step{};
    bool harmless = false;         ///< the results after this step are still correct
    bool asked = false;            ///< no mistake if it was saved before the step
    bool changes_weights = false;  ///< in float32 it does, even if the user's type hides it
    bool replayed = true;          ///< made on the user's tensors; false: read off them
    double difference = 0;         ///< between the replay and the user's tensor
    double nearest_difference = 0;
    std::vector<std::string> evidence{};  ///< facts about the numbers on their own
    /// If no mistake matches: the right rule with one thing wrong that makes the numbers, and the
    /// name of that thing; empty if there is none.
    std::string follows{}, followed_by{};
};

/// A tensor that no step could be compared with.
struct Skipped {
    std::string name;
    std::string reason;
    double cost = cost::unjudged;  ///< of a reading of all tensors that leaves it out
};

struct Diagnosis {
    std::vector<StepVerdict> steps;
    std::vector<Finding> findings;
    std::vector<Skipped> skipped;
    std::vector<std::string> remarks;  ///< printed before all else
    /// Questions that these numbers leave undecided: with one, nothing is called right.
    std::vector<std::string> open{};
    bool in_numpy = false;  ///< fixes for people are written for NumPy, not PyTorch
    /// Total cost of the findings (costs.hpp); infinite if it is above DiagnoseOptions::bound.
    double cost = HUGE_VAL;
    std::optional<Plan> plan{};  ///< of the samples that they saved
    Ledger given{};              ///< the start of the walk, with tensors of the user perhaps
    Ledger read{};               ///< the same and the user's tensors, as they were read

    /// A known mistake that is not harmless was found.
    bool has_mistake() const;
    /// Something was compared that attention computes, not only what it starts from.
    bool judges_a_step() const;
    /// A step is wrong and no known mistake matches it.
    bool has_unknown() const;
    /// Nor does a rule.
    bool has_open_end() const;
    /// Nothing is wrong or in question.
    bool is_right() const;
};

/// Traces of dropout in weights.
struct DropoutTraces {
    std::size_t dropped = 0;  ///< weights that are 0 and should not be
    double factor = 1;        ///< what the others are multiplied by, 1 / (1 - p)
    double difference = 0;    ///< largest distance of the others from that
};

/// Reads dropout out of a tensor, whichever cells it hit and whatever its chance; nothing when
/// some cell is neither 0 nor the one factor times what it should be.
/// Shapes  both the same.
std::optional<DropoutTraces> dropout_in(const Tensor& theirs, const Tensor& expected,
                                        const Tolerance& tolerance);

/// The decimals, or significant digits, that all floating numbers were rounded to; 0 if they have
/// more than a float is printed with.
int decimals_of(const Ledger& tensors);
/// True if all floating numbers are whole.
bool are_whole(const Ledger& tensors);
int digits_of(const Ledger& tensors);

/// The factor between two tensors, if it is the same for every cell.
std::optional<double> ratio_between(const Tensor& theirs, const Tensor& expected);

/// Evidence in the numbers of a wrong tensor: sums, symmetry, ratios, permutations.
std::vector<std::string> evidence_of(const std::string& step, const Tensor& theirs,
                                     const Tensor& expected);

}  // namespace attn
