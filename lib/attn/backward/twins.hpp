#pragma once
#include "attn/backward/graph.hpp"

namespace attn {

/// Makes a gradient by the functions of attn/steps/backward.hpp, in loops or in arrays.
using GradientTwin = Step::Compute;

/// The functions for the gradient that a tensor is given by one reader, by the form of its rule;
/// none where its rule alone says how.
GradientTwin gradient_twin(const BackwardNode& reader, const std::string& tensor,
                           const RuleTree& gradient, const BackwardGraph& graph, const Plan& plan);

GradientTwin row_dot_twin();
GradientTwin softmax_twin();

}  // namespace attn
