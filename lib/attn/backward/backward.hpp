#pragma once
#include <optional>
#include <string>

#include "attn/walk/step.hpp"

namespace attn {

/// What a walk is brought to one number by, whose gradient goes back through its steps.
struct Loss {
    enum class Kind {
        sum,       ///< of the last step
        mean,      ///< of the last step
        cell,      ///< one number of a step
        mse,       ///< the mean squared difference of the last step and a target
        upstream,  ///< the last step, each cell times a number: its gradient, where more follows
    };
    Kind kind = Kind::sum;
    std::string cell{};              ///< `weights[0,1]`, as parse_cell takes it
    std::optional<Tensor> target{};  ///< of mse and upstream
    std::string file{};              ///< that it came from, for messages
    double rest = 0;                 ///< added to it, without an effect on gradients
    std::string note{};              ///< what the number is, where that needs words
};

/// The table with the way back behind it: the loss, then the gradient of each tensor that it
/// depends on, `d_` and its name, from the last step to the embedding. A gradient is the derivative
/// of the rules that read the tensor; a parameter's follows that of the step that it is for.
///
/// Errors  ConfigError under the fused variant, which keeps no weights to go back through, and
/// where
///         a step has no rule; ShapeError for a target of another shape.
StepTable with_gradients(StepTable table, const Plan& plan, const Loss& loss);

}  // namespace attn
