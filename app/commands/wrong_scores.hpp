#pragma once
#include <optional>
#include <string>

#include "attn/ground/tensor/tensor.hpp"

namespace app {

/// A score of the user that disagrees with the tensors made of it, which agree with one another.
struct WrongScore {
    attn::Shape cell;
    double actual, correct;
};

/// Returns the score that must be wrong if the scaled scores, from which later tensors follow, are
/// not `factor` times it.
std::optional<WrongScore> wrong_score_by_scaled(const attn::Tensor& scores,
                                                const attn::Tensor& scaled, double factor);

/// Returns the score that must be wrong if one row of the weights does not follow, sums to 1, and
/// has the right ratios except at one of three keys and more. `correct` are the weights that follow
/// from the scores, times `factor`.
std::optional<WrongScore> wrong_score_by_weights(const attn::Tensor& scores,
                                                 const attn::Tensor& weights,
                                                 const attn::Tensor& correct, double factor);

}  // namespace app
