#pragma once
#include "attn/walk/ledger.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// Draws, or takes as given, everything a walk starts from: ids, embedding tables, x, memory and
/// the parameters of the projections, all in the plan's compute dtype.
///
/// Order  embedding table or x, then memory's, then the burnt draws, then the projections in draw
///        order (each bias right after its weight), then the output projection. Given parameters
///        replace drawn ones, so that the rest is the same with and without them.
/// Errors ShapeError when a given parameter does not have the shape of the one it replaces.
Ledger draw(const Plan& plan);

}  // namespace attn
