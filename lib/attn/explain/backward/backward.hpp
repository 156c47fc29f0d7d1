#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The loss: it brings a walk to one number, whose gradient goes back through its steps.
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

/// The table with the way back after it: the loss, then the gradient of each tensor that it
/// depends on, `d_` and its name, from the last step to the embedding. A gradient is the derivative
/// of the rules that read the tensor; a parameter's follows that of the step that it is for.
///
/// Errors  ConfigError under the fused variant, which keeps no weights to go back through, where a
///         step has no rule, for a table without a context or with a loss, and for a loss without
///         its target or of an unknown kind; ShapeError for a target of another shape.
StepTable with_gradients(StepTable table, const Plan& plan, const Loss& loss);

/// What central differences say of a walk's gradients.
struct GradientCheck {
    struct Off {
        std::string name;
        std::vector<std::size_t> cell;
        double error;  ///< relative
    };
    std::vector<Off> off{};  ///< cells beyond what the rounding of type and step explains
    std::size_t kinks = 0;   ///< cells at which the loss has no one slope
    double largest = 0;      ///< relative error

    /// `all gradients are within 3.1e-09 of central differences`
    std::string text() const;
};

/// The verdict on a walk of with_gradient_checks; nothing of others.
std::optional<GradientCheck> gradient_check(const Ledger& ledger);

/// Told in words what many walks will take.
using Teller = std::function<void(const std::string&)>;

/// Tells what so many walks of so many seconds take, where that is worth saying.
///
/// Errors  ConfigError, saying what to do `instead`, where it is more than two minutes.
void tell_cost(const std::string& what, double seconds, std::size_t walks,
               const std::string& instead, const Teller& tell);

/// The table with two steps after each gradient (each that is wanted): `d_scores_central`, what
/// the loss changes by when the cell is moved a little up and down in float64, nan at a kink, and
/// `d_scores_error`, how far the gradient is from that.
///
/// Errors  ConfigError for a table that does not go back, and, when it is walked, where all walks
/// together take minutes: that of one walk, measured, times two for each cell.
StepTable with_gradient_checks(const StepTable& table, const Plan& plan, const Teller& tell = {},
                               const std::function<bool(const std::string&)>& wanted = {});

}  // namespace attn
