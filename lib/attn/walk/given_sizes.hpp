#pragma once
#include "attn/walk/config.hpp"

namespace attn {

/// Fills in the sizes that are not set and that the shapes of the given parameters tell: features,
/// head and value dimensions, the vocabulary, and the lengths of query and key given directly.
/// What is set stays as it is; draw() refuses shapes that do not fit.
///
/// Errors  ShapeError when the features of a matrix do not divide into the heads.
void take_given_sizes(WalkConfig& config);

}  // namespace attn
