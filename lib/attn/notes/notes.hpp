#pragma once
#include <string>
#include <string_view>

#include "attn/walk/ledger.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// One or two plain sentences on what the step `name` just did and what to look at in these
/// numbers: which token attends most to which, what the mask hid, why a row is uniform.
///
/// `ledger` holds this step and those before it. Empty for a step that needs no words.
std::string step_note(std::string_view name, const Plan& plan, const Ledger& ledger);

}  // namespace attn
