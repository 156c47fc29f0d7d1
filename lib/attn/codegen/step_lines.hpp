#pragma once
#include <string>
#include <string_view>

#include "attn/codegen/code.hpp"

namespace attn {

/// The lines of a computed step, which read the variables of the steps before it. Empty for a
/// name that is no computed step.
std::string step_lines(std::string_view step, const Plan& plan, CodeLanguage language);

}  // namespace attn
