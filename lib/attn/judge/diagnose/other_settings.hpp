#pragma once
#include <functional>

#include "attn/core/plan/given_sizes.hpp"
#include "attn/judge/diagnose/diagnose_gradients.hpp"

namespace attn {

/// The walk to compare the user's tensors with, and which of its settings the user has chosen.
struct RequestedWalk {
    WalkConfig config{};
    Ledger user_tensors{};
    SpecifiedSettings specified{};
    bool is_probe = false;    ///< the inputs are a probe's, which fixes its mask and its layouts
    bool of_modules = false;  ///< their matrices are those of PyTorch's modules, which are out-in
    bool may_have_positions = false;  ///< their x may be the sum with the position embedding
    /// The user's gradients and the tensors beside them; empty if there is no gradient.
    Ledger backward{};
    /// The loss of a walk, if the user has chosen one.
    std::function<std::optional<Loss>(const Plan&)> loss{};
};

/// Verdicts on the user's tensors. They are open if other settings give other verdicts, so that the
/// user must choose.
struct FittingDiagnosis {
    Diagnosis diagnosis;
    GradientDiagnosis back{};
    bool is_open = false;
    /// Under the settings of the walk alone, if no tensor shows others.
    std::optional<Diagnosis> as_requested{};
};

/// Diagnoses under the settings of the walk or, if the user has not chosen them, under others that
/// explain more: another mask, layout, number of heads, or form of an attention file. A tolerance
/// that would let zeros pass leaves a step open.
///
/// Errors  as diagnose.
FittingDiagnosis diagnose_as_it_fits(const RequestedWalk& requested, const Plan& plan,
                                     const DiagnoseOptions& options);

}  // namespace attn
