#pragma once
#include <cstdint>
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
/// Errors  ConfigError under the fused variant, which keeps no weights to go back through, and
///         where a step has no rule; ShapeError for a target of another shape.
StepTable with_gradients(StepTable table, const Plan& plan, const Loss& loss);

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
/// adds. Errors  ConfigError for a model that says no next token, or that has experts.
ModelLoss cross_entropy(const models::Model& model, std::size_t layer, std::int64_t id,
                        const Array<double>& x, const Array<double>& output);

/// Mistakes of people who write the way back by hand. Each is made in a table that goes back
/// (with_gradients), as another rule for a gradient; none in others.
const std::vector<Mistake>& gradient_mistakes();

/// The one of that id, or nullptr.
const Mistake* find_gradient_mistake(const std::string& id);

/// The table with these made.  Errors  ConfigError for one that cannot show in this walk.
StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids);

/// Verdicts on somebody's gradients, next to ours.
struct GradientDiagnosis {
    std::vector<std::string> compared{};  ///< the gradients of theirs, by our names
    std::vector<std::string> wrong{};     ///< those that are not ours
    std::vector<const Mistake*> fits{};   ///< the mistakes that make all of theirs
};

/// Takes the gradients out of somebody's tensors, by names in use (`d_scores`, `dq`, `grad_q`,
/// `q.grad`), and compares them with those of the walk; where some differ, with those of each
/// mistake.
GradientDiagnosis diagnose_gradients(const Plan& plan, const Ledger& given, const StepTable& table,
                                     const Ledger& theirs);

/// The steps that a name of a gradient may be of, the likeliest first; empty for other names.
std::vector<std::string> gradient_called(const std::string& name);

}  // namespace attn
