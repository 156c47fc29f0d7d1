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

/// Whether a walk also computes the parts of softmax.
enum class Details { kept, skipped };

/// A computed walk, with its table.
struct Walked {
    Plan plan;
    StepTable table;
    Ledger ledger;
};

/// Computes all steps of the table that apply, in order, and records their tensors.
///
/// `given` has the drawn or loaded tensors; a step in it is not computed.
Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table,
            Details details = Details::kept);

/// Computes some steps of a table, after those already in the ledger; in a 16-bit dtype each is
/// rounded as by rounded_at().
void perform(std::span<const Step> steps, const StepTable& table, const Plan& plan,
             const Ledger& given, Details details, Ledger& ledger);

/// Returns where a step of a 16-bit walk rounds, as in libraries: nowhere if it copies; once in a
/// matrix product or softmax, which is computed in float32; after each operation elsewhere.
RoundedAt rounded_at(const PlannedStep& of);

/// Returns the tensor of a step before its rounding to 16 bits, computed from rounded inputs.
Tensor compute_in_float32(const Step& step, const Plan& plan, const Ledger& ledger);

/// A requested step, or a part of it.
struct WantedPart {
    std::string name;
    std::string indices{};  ///< as for slice()
    bool sliced = false;
};

/// The requested tensor, and its place in the whole tensor (empty for a whole one).
struct WalkPart {
    Tensor tensor;
    std::vector<AxisPart> place;
    Excerpt excerpt{};
    /// The step and earlier ones, cut to the excerpt, for its note. Empty for a whole tensor.
    Ledger seen{};
};

/// True if the queries of this walk are independent from the scores on, so that some rows can be
/// computed without the others: false for softmax over another axis, or with a mistake or a given
/// tensor in between.
bool can_walk_parts(const Plan& plan, const Ledger& given, const StepTable& table);

/// Returns the steps before those that work on each query separately.
std::span<const Step> steps_before_rows(const StepTable& table);

/// Computes only the parts of a walk that are needed for the requested ones: the steps up to query,
/// key and value, and the others for the queries of a part, from its first to its last. The steps
/// are those of the whole walk, with fewer rows.
///
/// Shapes  as slice() of the whole tensors.
/// Range   the numbers of the whole walk, except for the order in which BLAS adds products.
/// Errors  ConfigError for a step that this walk does not have, or if even these rows exceed the
///         memory; ShapeError as slice().
std::vector<WalkPart> walk_parts(const Plan& plan, const Ledger& given, const StepTable& table,
                                 const std::vector<WantedPart>& wanted);

/// Computes the walks of the chunks in order: each starts from its own rows of x and from the keys
/// and values of the earlier chunks.
///
/// Range   every row of each ledger is that of the whole walk. With loops, scores and weights are
///         bit-identical, and so is the context if a chunk ends at an even number of keys: an odd
///         last key is added after the others (loop::Dot).
std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table);

}  // namespace attn
