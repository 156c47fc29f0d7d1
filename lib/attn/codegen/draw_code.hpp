#pragma once
#include <string>
#include <string_view>

#include "attn/codegen/code.hpp"

namespace attn {

/// The lines that draw or give what a walk starts from: input steps and parameters. Empty for
/// a step that is drawn together with one before it.
std::string input_code(std::string_view step, const Plan& plan, CodeLanguage language,
                       Gradients gradients);

/// The lines that draw every projection parameter but the output's, after the burnt draws.
std::string projection_draw_code(const Plan& plan, CodeLanguage language, Gradients gradients);

/// The lines that draw w_output and b_output.
std::string output_draw_code(const Plan& plan, CodeLanguage language, Gradients gradients);

/// The lines that put given parameters in the place of drawn ones.
std::string given_parameter_code(std::string_view step, const Plan& plan, CodeLanguage language);

}  // namespace attn
