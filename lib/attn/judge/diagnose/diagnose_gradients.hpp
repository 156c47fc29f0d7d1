#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/backward/backward.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace attn {

/// The reference that the user's gradients are judged by.
struct RequestedGradients {
    const Diagnosis& forward;  ///< of the forward pass: the plan and the tensors as they were read
    const DiagnoseOptions& options;
    std::optional<Loss> loss{};  ///< if the user named one; else it is inferred from the gradients
};

/// The explanation of wrong gradients; its step is empty if it explains all of them together.
struct GradientFinding : StepExplanation {
    bool alone = false;  ///< other gradients that depend on it are right
};

/// Verdicts on the user's gradients.
struct GradientDiagnosis {
    std::vector<std::string> compared{};  ///< the user's gradients, by our names
    std::vector<std::string> wrong{};     ///< those that differ from ours
    std::vector<GradientFinding> findings{};
    std::vector<Skipped> skipped{};
    std::string assumed{};      ///< the inferred loss, unless it is the plain sum
    std::string used{};         ///< the user's tensor that this loss uses
    bool open = false;          ///< no loss reproduces the gradients, or the user did not name it
    bool of_user_pass = false;  ///< gradients of a forward pass that has the user's mistakes

    bool right() const { return wrong.empty() && !open; }
};

/// Takes the gradients out of the user's tensors, by common names (`d_scores`, `dq`, `grad_q`,
/// `q.grad`), and compares them with those of the user's own forward pass and of the right one. If
/// some differ, looks for one mistake that explains all of them, else judges each by the user's
/// gradients before it. Without a loss, backpropagation starts from the user's first gradient, else
/// from a sum, a mean or squares that the gradients fit.
///
/// Shapes  as `readings` accepts them.  Errors  ConfigError under the fused variant.
GradientDiagnosis diagnose_gradients(const RequestedGradients& requested,
                                     const Ledger& user_tensors);

/// Returns the tensor that a name is the gradient of: `q` for `dq`, `grad_q` and `q.grad`, if it is
/// a step's name or in the file; empty for other names.
std::string differentiated(const std::string& name, const Ledger& file);

}  // namespace attn
