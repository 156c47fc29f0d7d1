#pragma once
#include "attn/judge/diagnose/other_settings.hpp"

namespace attn {

/// A walk whose unset settings follow from the user's own tensors.
struct ShownWalk {
    RequestedWalk requested{};
    std::vector<std::string> assumed{};  ///< these settings, as remarks
    bool is_rare = false;                ///< tried only if no other walk explains the tensors
};

struct ShownDiagnosis {
    ShownWalk walk{};
    Diagnosis diagnosis{};
};

/// Diagnoses under the settings that the names and numbers of the user's tensors show: the mask
/// that is among them, the layout from which their query, key and value follow, the rotation and
/// the norm whose tensors they contain. Of several such walks, takes the one with the fewest
/// findings. Settings that the user has chosen, and those of a probe, do not change.
///
/// Errors  as diagnose.
ShownDiagnosis diagnose_as_shown(const RequestedWalk& requested, const Plan& plan,
                                 const DiagnoseOptions& options);

}  // namespace attn
