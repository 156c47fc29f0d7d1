#pragma once
#include <string>
#include <string_view>

#include "attn/codegen/code.hpp"
#include "attn/plan/draw_list.hpp"

namespace attn {

/// The lines that draw or give what a walk starts from, of one step: the rows of the list that name
/// it, then a given parameter in the place of the drawn one. Empty for a step that is computed, or
/// drawn together with one before it.
std::string draw_code(const DrawList& list, std::string_view step, const Plan& plan,
                      CodeLanguage language, Gradients gradients);

}  // namespace attn
