#pragma once
#include <string>
#include <vector>

#include "attn/tensor/slice.hpp"
#include "attn/walk/excerpt.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// A step that is asked for, whole or a part of it.
struct WantedPart {
    std::string name;
    std::string indices{};  ///< as slice() takes them
    bool sliced = false;
};

/// What was asked for, and where it lies in the whole tensor (empty for a whole one).
struct WalkPart {
    Tensor tensor;
    std::vector<AxisPart> place;
    Excerpt excerpt{};
    /// The step and those before it, cut to the excerpt: what its note looks at. Empty for a whole
    /// one, and where the rows behind the part are too many to be held.
    Ledger seen{};
};

/// Whether the steps of this walk from scores to context are all evaluated over blocks of rows, so
/// that parts of them can be had alone: not where a mistake or a given tensor stands between them.
bool can_walk_parts(const Plan& plan, const Ledger& given, const StepTable& table);

/// Performs no more of a walk than the parts that are asked for need: a row of weights needs one
/// row of scores, and the context needs no weights of more than some rows at a time.
///
/// Shapes  as slice() of the whole tensors.
/// Range   the numbers of the whole walk, but for the order in which BLAS adds products.
/// Errors  ConfigError for a step that this walk does not have, or when even the parts are larger
///         than the memory; ShapeError as slice().
std::vector<WalkPart> walk_parts(const Plan& plan, const Ledger& given, const StepTable& table,
                                 const std::vector<WantedPart>& wanted);

}  // namespace attn
