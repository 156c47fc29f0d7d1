#pragma once
#include <span>
#include <string>
#include <vector>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/walk/excerpt.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {

/// Whether a walk also records the parts of softmax.
enum class Details { kept, skipped };

/// A walk that was performed, by this table.
struct Walked {
    Plan plan;
    StepTable table;
    Ledger ledger;
};

/// Performs every step of the table that applies, in order, and records every tensor.
///
/// `given` holds what was drawn or loaded; a step found there is taken, not computed.
Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table,
            Details details = Details::kept);

/// The same for some steps of a table, after those that the ledger holds already; in a 16-bit type
/// each as rounded_at() says.
void perform(std::span<const Step> steps, const StepTable& table, const Plan& plan,
             const Ledger& given, Details details, Ledger& ledger);

/// What a step of a 16-bit walk rounds, as libraries do. What has no numbers of its own rounds
/// nothing; a product of matrices, or softmax, its result, which float32 adds up; other arithmetic
/// stores what each of its operations makes.
enum class RoundedAt { nothing, result, operations };
RoundedAt rounded_at(const PlannedStep& of);

/// The tensor of a step before it is rounded to 16 bits, from the rounded ones that it reads.
Tensor made_in_float32(const Step& step, const Plan& plan, const Ledger& ledger);

/// A step that is asked for, whole or a part of it.
struct WantedPart {
    std::string name;
    std::string indices{};  ///< as slice() takes them
    bool sliced = false;
};

/// The tensor asked for, and its place in the whole tensor (empty for a whole one).
struct WalkPart {
    Tensor tensor;
    std::vector<AxisPart> place;
    Excerpt excerpt{};
    /// The step and those before it, cut to the excerpt: what its note looks at. Empty for a whole
    /// one.
    Ledger seen{};
};

/// Whether each query of this walk goes its own way from the scores on, so that some rows can be
/// had without the others: not with softmax over another axis, and not where a mistake or a given
/// tensor is between.
bool can_walk_parts(const Plan& plan, const Ledger& given, const StepTable& table);

/// The steps before those that work on each query alone.
std::span<const Step> steps_before_rows(const StepTable& table);

/// Performs no more of a walk than the parts that are asked for need: the steps up to query, key
/// and value, and the others for those queries alone that a part touches, from its first to its
/// last. The steps are those of the whole walk, with fewer rows.
///
/// Shapes  as slice() of the whole tensors.
/// Range   the numbers of the whole walk, but for the order in which BLAS adds products.
/// Errors  ConfigError for a step that this walk does not have, or when even these rows are larger
///         than the memory; ShapeError as slice().
std::vector<WalkPart> walk_parts(const Plan& plan, const Ledger& given, const StepTable& table,
                                 const std::vector<WantedPart>& wanted);

/// The walks of the chunks, one after the other: each starts from its own rows of x and from the
/// keys and values that the chunks before it left.
///
/// Range   every row of each ledger is that of the whole walk. With the loops scores and weights
///         are so bit for bit, and the context wherever a chunk ends at an even number of keys: an
///         odd last key is added after the others (loop::Dot).
std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table);

}  // namespace attn
