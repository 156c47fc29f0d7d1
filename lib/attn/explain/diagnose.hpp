#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/compare.hpp"
#include "attn/mistakes/mistake.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

struct DiagnoseOptions {
    /// The tensors were copied from a screen with so many decimals.
    std::optional<int> decimals;
    /// What may differ; without it, what rounding explains.
    std::optional<Tolerance> tolerance;
    /// Where no single mistake matches, try two at once.
    bool pairs = false;
};

/// How a tensor of somebody's compares with ours.
enum class Verdict { right, wrong, shape };

/// One of somebody's tensors, judged twice.
struct StepVerdict {
    std::string name;
    Shape theirs;
    Shape expected;
    /// Against the reference walk.
    Verdict global = Verdict::right;
    double global_difference = 0;
    /// Against the same operation on their own tensors before it.
    Verdict local = Verdict::right;
    double local_difference = 0;
};

/// What was made of one step that is wrong by itself.
struct Finding {
    std::string step;
    const Mistake* mistake = nullptr;    ///< nullptr when no known one matches
    const Mistake* second = nullptr;     ///< of a pair, which is a hypothesis only
    const Mistake* beside = nullptr;     ///< a harmless difference on top of which it matches
    std::vector<const Mistake*> ties;    ///< give the same numbers here
    bool harmless = false;               ///< the results after this step are right all the same
    double difference = 0;               ///< between the replay and their tensor
    const Mistake* runner_up = nullptr;  ///< the nearest that does not match
    double runner_up_difference = 0;
    std::vector<std::string> evidence;  ///< what their numbers say by themselves
};

struct Diagnosis {
    std::vector<StepVerdict> steps;
    std::vector<Finding> findings;

    /// A known mistake that is not harmless was found.
    bool has_mistake() const;
    /// A step is wrong and no known mistake matches it.
    bool has_unknown() const;
};

/// Finds where somebody's tensors leave the reference, and which catalogued mistake leads there.
///
/// `given` holds the inputs and parameters that both sides start from; `theirs` any of the steps
/// under their ledger names. Each step is replayed from their own tensors before it, first as it
/// should be, then with every mistake of the catalogue: so a mistake upstream hides none
/// downstream.
/// Errors  ConfigError when `theirs` has no step of this walk.
Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& theirs,
                   const DiagnoseOptions& options = {});

/// The diagnosis for people, and as JSON.
std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

/// Differences that change no result: other ways to write the same attention.
const std::vector<Mistake>& harmless_differences();

/// What dropout made of weights.
struct Dropout {
    std::size_t dropped = 0;  ///< weights that are 0 and should not be
    double factor = 1;        ///< what the others are multiplied by, 1 / (1 - p)
    double difference = 0;    ///< largest distance of the others from that
};

/// Reads dropout out of a tensor, whichever cells it hit and whatever its chance; nothing when
/// some cell is neither 0 nor the one factor times what it should be.
/// Shapes  both the same.
std::optional<Dropout> dropout_in(const Tensor& theirs, const Tensor& expected,
                                  const Tolerance& tolerance);

/// What the numbers of a wrong tensor say by themselves: sums, symmetry, ratios, permutations.
std::vector<std::string> signs(const std::string& step, const Tensor& theirs,
                               const Tensor& expected);

}  // namespace attn
