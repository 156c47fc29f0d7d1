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
    /// The tolerance; the rounding bound if not set.
    std::optional<Tolerance> tolerance;
    /// Tries two mistakes at once if no single one matches.
    bool pairs = false;
    /// Maps the user's tensor names to step names, for names that we do not recognise.
    std::map<std::string, std::string> steps;
    /// The walk starts from the user's query, key and value if no parameters make them.
    bool takes_projections = false;
    /// A remark lists the tensors that the walk starts from.
    bool reports_inputs_as_given = true;
    /// The user's code began from a probe: there are no other parameters.
    bool has_all_inputs = false;
    /// Gradients are judged afterwards, so the forward pass may have nothing to compare.
    bool has_backward = false;
    /// The walk is shown even if there is nothing to compare.
    bool may_be_empty = false;
    /// Hypotheses that cost more are not tried: see Diagnosis::cost.
    double bound = HUGE_VAL;
    /// Progress callback: current step, fraction of its mistakes that were tried.
    std::function<void(const std::string& step, double done)> progress;
};

/// Result of comparing one of the user's tensors with ours.
enum class Verdict { right, wrong, shape, not_compared };

/// One of the user's tensors, judged twice.
struct StepVerdict {
    std::string name;
    std::string name_in_file;  ///< its name in the user's file
    std::string layout;        ///< how its axes were read; empty if they are ours
    Shape actual;
    Shape expected;
    /// Against the reference walk.
    Verdict global = Verdict::right;
    double global_difference = 0;
    bool is_systematic = false;  ///< all numbers differ from the reference by one factor
    /// Against the same operation on the user's own tensors before it.
    Verdict local = Verdict::right;
    double local_difference = 0;
    bool harmless = false;  ///< it differs, and the results are still correct
    double epsilon = 0;     ///< machine epsilon of the 16-bit type that it went through
    /// The local difference relative to the rounding bound; the global one if all steps so far are
    /// right.
    std::optional<WithinBall> within{};
    /// Distance from the exact numbers in multiples of the usual one: see Judge::excess.
    double excess = 0;

    /// True if rounding rarely makes that distance.
    bool is_unusual() const;
};

/// The role of a mistake in the finding that names it.
enum class Role {
    makes,    ///< it makes the tensor, alone or (in a hypothesis) with the second one
    beside,   ///< a harmless difference on top of which the others make it
    ties,     ///< it gives the same numbers here; the nearest comes first
    pairs,    ///< it and the next of this role give the same numbers
    nearest,  ///< the nearest that does not match
};

/// An explanation of a wrong tensor: the mistakes that it names, each in a role, or a rule.
struct StepExplanation {
    std::string step{};
    std::vector<std::pair<Role, const Mistake*>> named{};
    std::vector<std::string> evidence{};  ///< patterns in the numbers alone
    /// If no mistake matches: a rule with one change that makes the numbers, and the name of that
    /// change; empty if there is none.
    std::string follows{}, followed_by{};

    void add(Role role, const Mistake* mistake) { named.emplace_back(role, mistake); }
    std::vector<const Mistake*> as(Role role) const;
    /// The first that makes the tensor; nullptr if no known one does.
    const Mistake* mistake() const;
    /// All of them in the order applied: harmless differences, then mistakes.
    std::vector<const Mistake*> applied() const;
};

/// The explanation of one step that is wrong on its own.
struct Finding : StepExplanation {
    bool harmless = false;         ///< the results after this step are still correct
    bool is_question = false;      ///< no mistake if it was saved before the step
    bool changes_weights = false;  ///< in float32, even if the user's type hides it
    bool replayed = true;          ///< applied to the user's tensors, not inferred from them
    bool is_slip = false;          ///< unknown, and most cells are right
    bool lacks_parameter = false;  ///< unknown, unless a parameter that is missing makes it
    double difference = 0;         ///< between the replay and the user's tensor
    double nearest_difference = 0;
};

/// A tensor that no step could be compared with.
struct Skipped {
    std::string name;
    std::string reason;
    double cost = cost::unjudged;  ///< that leaving it out adds to a reading
    bool lacks_parameter = false;  ///< the file does not have what makes it, in any reading
    bool is_number = false;        ///< a single number, such as a size or a loss
};

struct Diagnosis {
    std::vector<StepVerdict> steps;
    std::vector<Finding> findings;
    std::vector<Skipped> skipped;
    std::vector<std::string> remarks;  ///< printed first
    /// Questions that the numbers do not decide: as long as there is one, the verdict is not right.
    std::vector<std::string> open{};
    bool in_numpy = false;  ///< fixes for people are written for NumPy, not PyTorch
    /// Total cost of the findings (costs.hpp); infinite if it is above DiagnoseOptions::bound.
    double cost = HUGE_VAL;
    std::optional<Plan> plan{};  ///< for the samples that the user saved
    Ledger given{};              ///< the inputs of the walk, some of them perhaps the user's
    Ledger read{};               ///< those and the user's tensors, as they were read

    /// True if a known mistake that is not harmless was found.
    bool has_mistake() const;
    /// True if a computed step was compared, not only inputs.
    bool judges_a_step() const;
    /// True if a step is wrong and no known mistake matches it.
    bool has_unknown() const;
    /// True if, in addition, no rule matches it.
    bool has_open_end() const;
    /// True if nothing is wrong or undecided.
    bool is_right() const;
};

/// Traces of dropout in weights.
struct DropoutTraces {
    std::size_t dropped = 0;  ///< weights that are 0 and should not be
    double factor = 1;        ///< the factor of the others, 1 / (1 - p)
    double difference = 0;    ///< largest distance of the others from that
};

/// Finds dropout in a tensor, whichever cells it hit and whatever its probability; nullopt if some
/// cell is neither 0 nor the common factor times its right value.
/// Shapes  both the same.
std::optional<DropoutTraces> dropout_in(const Tensor& actual, const Tensor& expected,
                                        const Tolerance& tolerance);

/// Returns the number of decimals, or significant digits, that all floating-point numbers were
/// rounded to; 0 if they have more than a float is printed with.
int decimals_of(const Ledger& tensors);
/// True if all floating numbers are whole.
bool are_whole(const Ledger& tensors);
int digits_of(const Ledger& tensors);

/// Returns the factor between two tensors if it is the same for every cell.
std::optional<double> ratio_between(const Tensor& actual, const Tensor& expected);

/// Returns evidence in the numbers of a wrong tensor: sums, symmetry, ratios, permutations.
std::vector<std::string> evidence_of(const std::string& step, const Tensor& actual,
                                     const Tensor& expected);

}  // namespace attn
