#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"
#include "attn/models/model.hpp"
#include "attn/walk/step.hpp"

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

/// The table with the way back behind it: the loss, then the gradient of each tensor that it
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
using Told = std::function<void(const std::string&)>;

/// Tells what so many walks of so many seconds take, where that is worth saying.
///
/// Errors  ConfigError, saying what to do `instead`, where it is more than two minutes.
void tell_cost(const std::string& what, double seconds, std::size_t walks,
               const std::string& instead, const Told& tell);

/// The table with two steps behind each gradient (each that is wanted): `d_scores_central`, what
/// the loss changes by when the cell is moved a little up and down in float64, nan at a kink, and
/// `d_scores_error`, how far the gradient is from that.
///
/// Errors  ConfigError for a table that does not go back, and, when it is walked, where all walks
/// together take minutes: that of one walk, measured, times two for each cell.
StepTable with_gradient_checks(const StepTable& table, const Plan& plan, const Told& tell = {},
                               const std::function<bool(const std::string&)>& wanted = {});

/// A loss behind the attention of one layer, and its gradient there.
struct ModelLoss {
    double loss = 0;
    Array<double> gradient;  ///< by each cell of that attention's output
};

/// The cross-entropy of a token behind the last one: what the rest of a model, its layer's MLP, the
/// layers behind it and the logits, makes of the output of a layer's attention.
///
///     loss = -log(softmax(logits of the last row)[id])
///
/// Shapes  x and output (tokens, embed_dim): what the layer starts from, and what its attention
/// adds. Errors  ConfigError for a model that says no next token, or that has experts, and for a
/// layer or an id that it has not; ShapeError for other shapes.
ModelLoss cross_entropy(const models::Model& model, std::size_t layer, std::int64_t id,
                        const Array<double>& x, const Array<double>& output);

/// Mistakes of people who write the way back by hand. Each is made in a table that goes back
/// (with_gradients), as another rule for a gradient; none in others.
const std::vector<Mistake>& gradient_mistakes();

/// The one of that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// The table with these made.  Errors  ConfigError for an unknown one, one that cannot show in
/// this walk and a table that does not go back.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

}  // namespace attn
