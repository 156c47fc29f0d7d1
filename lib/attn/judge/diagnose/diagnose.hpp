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
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

struct DiagnoseOptions {
    /// The tensors were copied from a screen with so many decimals.
    std::optional<int> decimals;
    /// The same with so many significant digits.
    std::optional<int> digits;
    /// The tolerance; without it, what rounding explains.
    std::optional<Tolerance> tolerance;
    /// Where no single mistake matches, try two at once.
    bool pairs = false;
    /// Which of their names is which step, where the names themselves do not say it.
    std::map<std::string, std::string> steps;
    /// Nothing says how x is projected: their query, key and value are where the walk starts.
    bool takes_projections = false;
    /// They began from a probe: there is no parameter but those of the walk.
    bool has_all_inputs = false;
    /// Gradients are judged from here, so that nothing of the way forth need be compared.
    bool goes_back = false;
    /// Nothing that costs more is looked for: see Diagnosis::cost.
    double bound = HUGE_VAL;
    /// Told at which step the search is and how much of its mistakes it has tried, from 0 to 1.
    std::function<void(const std::string& step, double done)> progress;
};

/// How a tensor of somebody's compares with ours.
enum class Verdict { right, wrong, shape, not_compared };

/// One of somebody's tensors, judged twice.
struct StepVerdict {
    std::string name;
    std::string theirs_name;  ///< what it is called in their file
    std::string layout;       ///< how its axes were read, empty where they are ours
    Shape theirs;
    Shape expected;
    /// Against the reference walk.
    Verdict global = Verdict::right;
    double global_difference = 0;
    bool is_systematic = false;  ///< every number differs from the reference by one factor
    /// Against the same operation on their own tensors before it.
    Verdict local = Verdict::right;
    double local_difference = 0;
    bool harmless = false;  ///< it differs, and what follows is right all the same
    double epsilon = 0;     ///< of the 16-bit type that it has been through
    /// What rounding explains of the local difference; of the global one if all steps so far are
    /// right.
    std::optional<WithinBall> within{};
};

/// The explanation of one step that is wrong by itself.
struct Finding {
    std::string step;
    const Mistake* mistake = nullptr;  ///< nullptr when no known one matches
    const Mistake* second = nullptr;   ///< of a pair, which is a hypothesis only
    const Mistake* beside = nullptr;   ///< a harmless difference on top of which it matches
    const Mistake* also_beside = nullptr;
    std::vector<const Mistake*> ties;  ///< give the same numbers here, the nearest first
    /// Further pairs that give the same numbers.
    std::vector<std::pair<const Mistake*, const Mistake*>> pairs;
    bool harmless = false;               ///< the results after this step are right all the same
    bool asked = false;                  ///< no mistake if it was saved before the step
    bool changes_weights = false;        ///< made in float32 it does, whatever theirs can show
    bool replayed = true;                ///< made on their tensors; false: read off them
    double difference = 0;               ///< between the replay and their tensor
    const Mistake* runner_up = nullptr;  ///< the nearest that does not match
    double runner_up_difference = 0;
    std::vector<std::string> evidence;  ///< what their numbers say by themselves
    /// Where no mistake matches: the right rule with one thing wrong, which their numbers follow,
    /// and what that is; empty where none does.
    std::string follows{}, followed_by{};
};

/// A tensor that no step could be compared with.
struct Skipped {
    std::string name;
    std::string reason;
    double cost = 40;  ///< of a reading of all tensors that leaves it out
};

struct Diagnosis {
    std::vector<StepVerdict> steps;
    std::vector<Finding> findings;
    std::vector<Skipped> skipped;
    std::vector<std::string> remarks;  ///< what to know before all else
    /// What these numbers leave undecided: with such a question nothing is called right.
    std::vector<std::string> open{};
    bool in_numpy = false;  ///< fixes for people are written for NumPy, not PyTorch
    /// Of what was found: what has no name weighs most, then a mistake, then what is only written
    /// otherwise; infinite where it is more than was asked for.
    double cost = HUGE_VAL;
    std::optional<Plan> plan{};  ///< of the samples that they saved
    Ledger given{};              ///< what the walk starts from, some of theirs perhaps
    Ledger read{};               ///< the same and their tensors, as they were read

    /// A known mistake that is not harmless was found.
    bool has_mistake() const;
    /// Something was compared that attention computes, not only what it starts from.
    bool judges_a_step() const;
    /// A step is wrong and no known mistake matches it.
    bool has_unknown() const;
};

/// Finds where somebody's tensors leave the reference, and which catalogued mistake leads there.
///
/// `given` holds the inputs and parameters that both sides start from; `theirs` any of the steps
/// under names and in layouts that are in use (see readings.hpp). Each step is replayed from their
/// own tensors before it, first as it should be, then with every mistake of the catalogue: so a
/// mistake upstream hides none downstream. What a replay reads has the planned shape and the walk's
/// type; a step whose own past is otherwise is compared with the reference alone.
/// Errors  ConfigError, listing both sides' names, when `theirs` has no step of this walk.
Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& theirs,
                   const DiagnoseOptions& options = {});

/// False if the walk of another plan need not be searched: the last tensor before the first wrong
/// one is wrong there, or, if nothing may be wrong with that walk, the first wrong one still is.
bool may_explain(const Plan& plan, const Ledger& given, const Ledger& theirs,
                 const Diagnosis& diagnosis, const DiagnoseOptions& options, bool must_be_right);

/// The diagnosis for people, and as JSON.
std::string diagnosis_text(const Diagnosis& diagnosis, const Ink& ink = {});
std::string diagnosis_json(const Diagnosis& diagnosis);

/// The ids of mistakes, `a, b, c`.
std::string ids_of(const std::vector<const Mistake*>& mistakes);

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
int digits_of(const Ledger& tensors);

/// The factor between two tensors, if it is the same for every cell.
std::optional<double> ratio_between(const Tensor& theirs, const Tensor& expected);

/// Evidence in the numbers of a wrong tensor: sums, symmetry, ratios, permutations.
std::vector<std::string> evidence_of(const std::string& step, const Tensor& theirs,
                                     const Tensor& expected);

}  // namespace attn
