#pragma once
#include <string>

#include "attn/backward/gradient_mistakes.hpp"

namespace app {

/// Somebody's tensors, those of the way forth and the gradients.
struct GradientsApart {
    attn::Ledger forward{}, gradients{};
    bool has_steps = false;  ///< of the way forth, beside what it starts from
};
GradientsApart gradients_apart(const attn::Ledger& file);

/// The gradients against those of the walk: of the last step's, where they have it, else of the
/// sum.
attn::GradientDiagnosis diagnose_back(const attn::Plan& plan, const GradientsApart& apart);

/// The gradients for people, empty where there are none; and as a member of a JSON object.
std::string gradients_text(const attn::GradientDiagnosis& back);
std::string gradients_json(const attn::GradientDiagnosis& back, const std::string& object);

}  // namespace app
