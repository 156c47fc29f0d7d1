#pragma once
#include <string>
#include <vector>

#include "attn/walk/step.hpp"

namespace attn {

// x as a trained model makes it: the embedding of each token, a row for its position in models that
// learn positions, and what the layers before the walk's own have added.

/// The card of `token_embedding` or `position_embedding`.
Step embedded_card(const std::string& name);

/// What the card of x says in such a walk.
std::vector<Input> embedded_x_inputs(const Plan& plan);
std::string embedded_x_rule(const Plan& plan);
std::string embedded_x_formula(const Plan& plan);
Tensor embedded_x(const Plan& plan, const Ledger& ledger);
std::string embedded_x_note(const notes::Subject& subject);

}  // namespace attn
