#pragma once
#include "attn/plan/draw_list.hpp"
#include "attn/plan/ledger.hpp"

namespace attn {

/// The tensor of a row that is taken: ids, or x and memory in this dtype, a lone sequence repeated
/// for every one of the batch.
Tensor taken_tensor(const DrawnTensor& row, DType dtype);

/// Makes every tensor of the list, floating ones in this dtype.
Ledger draw(const DrawList& list, DType dtype, Generator& generator);

/// Draws, or takes as given, all that a walk starts from, in the plan's compute dtype, with a
/// generator freshly seeded or with one that goes on. Given parameters replace drawn ones, so that
/// the rest is the same with and without them.
///
/// Errors  ShapeError when a given parameter does not have the shape of the one it replaces.
Ledger draw(const Plan& plan);
Ledger draw(const Plan& plan, Generator& generator);

}  // namespace attn
