#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/judge/compare/compare.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

/// What a test of one step should allow, so that no right code fails.
struct StepTolerance {
    std::string step;
    Tolerance alone;     ///< made of the steps before it as they are
    Tolerance whole;     ///< made of what the walk starts with
    std::string reason;  ///< `sums of 16, exp`
};

/// The tolerances of all steps of this walk, in its type and for these inputs: no cell of right
/// code is further off (attn/explain/bounds/bounds.hpp), the expected numbers rounded in the same
/// way.
std::vector<StepTolerance> tolerances(const Plan& plan, const Ledger& given);

/// What passes a test of a step with that tolerance all the same.
struct Hidden {
    double factor = 0;                       ///< every number so much larger than it should be
    std::vector<const Mistake*> mistakes{};  ///< change the step, but by less
    std::size_t shown = 0;                   ///< mistakes that fail the test
    std::size_t dropped = 0, keys = 0;       ///< keys of a head that no query would miss, of all
    bool tries = true;                       ///< mistakes were made; not in long walks
};
Hidden hidden_by(const Tolerance& tolerance, const Plan& plan, const Ledger& given,
                 const std::string& step);

}  // namespace attn
