#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/backward/backward.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace attn {

/// What somebody's gradients are judged by.
struct GradientsAsked {
    const Diagnosis&
        forward;  ///< of their way forth: the plan, and their tensors as they were read
    const DiagnoseOptions& options;
    std::optional<Loss> loss{};  ///< where it was said; else it is read off their gradients
};

/// The explanation of gradients that are wrong.
struct GradientFinding : NamedMistakes {
    std::string step{};  ///< empty where it explains all of them together
    bool alone = false;  ///< others that it would make wrong are right
    std::vector<std::string> evidence{};
    std::string follows{}, followed_by{};  ///< as in Finding
};

/// Verdicts on somebody's gradients, next to ours.
struct GradientDiagnosis {
    std::vector<std::string> compared{};  ///< the gradients of theirs, by our names
    std::vector<std::string> wrong{};     ///< those that are not ours
    std::vector<GradientFinding> findings{};
    std::vector<Skipped> skipped{};
    std::string assumed{};   ///< the loss, where nobody said it and it is not the plain sum
    std::string used{};      ///< a tensor of theirs that it is made of
    bool open = false;       ///< no loss that was tried makes them, or one that nobody named
    bool of_theirs = false;  ///< of a way forth that has their mistakes

    bool right() const { return wrong.empty() && !open; }
};

/// Takes the gradients out of somebody's tensors, by names in use (`d_scores`, `dq`, `grad_q`,
/// `q.grad`), and compares them with those of their own way forth and of the right one; where some
/// differ, looks for the mistake that makes all of them, else judges each by those of theirs before
/// it. Without a loss, the gradient of theirs that comes first is where the way back begins; else a
/// sum, a mean or squares with which they fit.
///
/// Shapes  as `readings` takes them. Errors  ConfigError under the fused variant.
GradientDiagnosis diagnose_gradients(const GradientsAsked& asked, const Ledger& theirs);

/// The tensor that a name in use is the gradient of: `q` of `dq`, `grad_q` and `q.grad`, where it
/// is a step's name or in the file; empty for other names.
std::string differentiated(const std::string& name, const Ledger& file);

}  // namespace attn
