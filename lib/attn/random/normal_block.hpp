#pragma once
#include <span>

#include "attn/random/generator.hpp"

namespace attn {

/// PyTorch makes normals sixteen at a time.
inline constexpr std::size_t normal_block_size = 16;

/// Turns uniforms into normals, in place, one block of sixteen after the other: element j of a
/// block gives the radius and element j + 8 the angle, and they become the two coordinates.
///
///     radius = sqrt(-2 log(1 - u_j));   angle = 2 pi u_(j+8)
///     d_j = radius cos(angle) * deviation + mean;   d_(j+8) = radius sin(angle) * deviation + mean
///
/// Range   values in [0, 1); their number a multiple of sixteen. In float32, `mean` and `deviation`
///         are rounded first.
/// Source  Box and Muller 1958.
void transform_normal_blocks(std::span<float> values, double mean, double deviation,
                             TorchBuild build);
void transform_normal_blocks(std::span<double> values, double mean, double deviation,
                             TorchBuild build);

}  // namespace attn
