#pragma once
#include <string>
#include <vector>

#include "attn/judge/compare/compare.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// The tolerances for a test of one step.
struct StepTolerance {
    std::string step;
    Tolerance alone;     ///< that correct code always passes, from given earlier tensors
    Tolerance whole;     ///< that it always passes at the end of a walk from the inputs
    Tolerance usual;     ///< that it nearly always passes there
    std::string reason;  ///< `sums of 16, exp`
};

/// Returns the tolerances of all steps of this walk, for its dtype and these inputs: no cell of
/// correct code is off by more (attn/explain/bounds/bounds.hpp), if the expected numbers are
/// rounded in the same way. Usual is six times the root mean square distance of walks in which each
/// computed number is perturbed at random within an eighth of its bound.
std::vector<StepTolerance> tolerances(const Plan& plan, const Ledger& given);

/// Errors that a test with that tolerance misses.
struct Hidden {
    double factor = 0;                       ///< all numbers may be too large by this factor
    std::vector<const Mistake*> mistakes{};  ///< mistakes that change the step by less
    std::size_t shown = 0;                   ///< mistakes that fail the test
    std::size_t dropped = 0, keys = 0;       ///< keys of a head that can be left out, of all keys
    bool tries = true;                       ///< mistakes were made; not in long walks
};
/// Returns what each of these tolerances hides, in their order; every mistake is made once.
std::vector<Hidden> hidden_by(const std::vector<Tolerance>& tolerances, const Plan& plan,
                              const Ledger& given, const std::string& step);

}  // namespace attn
