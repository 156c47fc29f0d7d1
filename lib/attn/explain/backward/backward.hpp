#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The loss: reduces a walk to one number, which is then differentiated.
struct Loss {
    enum class Kind {
        sum,       ///< of the last step
        mean,      ///< of the last step
        cell,      ///< one number of a step
        mse,       ///< the mean squared difference of the last step and a target
        upstream,  ///< the last step times a tensor, which is then its upstream gradient
    };
    Kind kind = Kind::sum;
    std::string cell{};              ///< `weights[0,1]`, as for parse_cell
    std::optional<Tensor> target{};  ///< for mse and upstream
    std::string file{};              ///< source of the target, for messages
    double rest = 0;                 ///< a constant term, without effect on gradients
    std::string note{};              ///< describes the number if it is not obvious
};

/// Appends the backward pass to a table: the loss, then the gradient of each tensor that it depends
/// on, named `d_` and the tensor, from the last step to the embedding. A gradient is derived from
/// the rules that read the tensor; a parameter's gradient comes after that of the step that uses
/// it.
///
/// Errors  ConfigError under the fused variant, which does not keep the weights, for a step without
///         a rule, for a table without a context or with a loss, and for a loss without its target
///         or of an unknown kind; ShapeError for a target of another shape.
StepTable with_gradients(StepTable table, const Plan& plan, const Loss& loss);
/// Returns the tensors that the backward pass of a table reads.
///
/// Errors  as with_gradients.
std::set<std::string> tensors_read_backward(const Plan& plan, const StepTable& table);

/// Result of comparing a walk's gradients with central differences.
struct GradientCheck {
    struct Off {
        std::string name;
        std::vector<std::size_t> cell;
        double error;  ///< relative
    };
    std::vector<Off> off{};  ///< cells with errors above the rounding of dtype and difference
    std::size_t kinks = 0;   ///< cells at which the loss is not differentiable
    double largest = 0;      ///< relative error

    /// `all gradients are within 3.1e-09 of central differences`
    std::string text() const;
};

/// Returns the result for a walk of with_gradient_checks; nullopt for other walks.
std::optional<GradientCheck> gradient_check(const Ledger& ledger);

/// Reports the expected duration in words.
using Notifier = std::function<void(const std::string&)>;

/// Reports the time of `walks` walks of `seconds` each, if it is long.
///
/// Errors  ConfigError, with the advice `instead`, if it is more than two minutes.
void note_cost(const std::string& what, double seconds, std::size_t walks,
               const std::string& instead, const Notifier& notify);

/// Returns the table with two steps after each (wanted) gradient: `d_scores_central`, the central
/// difference of the loss for each cell in float64, nan at a kink, and `d_scores_error`, its
/// difference from the gradient.
///
/// Errors  ConfigError for a table without gradients and, during the walk, if all walks together
///         would take minutes: the measured time of one walk, times two per cell.
StepTable with_gradient_checks(const StepTable& table, const Plan& plan,
                               const Notifier& notify = {},
                               const std::function<bool(const std::string&)>& wanted = {});

}  // namespace attn
