#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

/// Whether generated PyTorch lines record gradients, which shows in the printed form.
enum class Gradients { off, on };

/// The code for one step of a walk.
struct StepCode {
    std::string step;
    std::string code;
};

/// Returns the lines before the first step: imports, the seed, and print options that are not the
/// default.
///
/// A plan for the portable build makes PyTorch use its portable kernels.
std::string setup_code(const Plan& plan, CodeLanguage language, const PrintOptions& options = {});

/// Returns the lines of all steps of the walk, in the order of the step table. After `setup_code`,
/// each assigns the walk's numbers to a variable with the name of the step: same draws in the same
/// order, same types, masks, scale and axes.
///
/// Random numbers are drawn by the library whose generator the plan uses, whatever the language of
/// the other lines. The projection weights are drawn together, by the first of their steps.
std::vector<StepCode> program_of(const Plan& plan, const StepTable& table, CodeLanguage language,
                                 Gradients gradients = Gradients::off);

/// Returns the lines of one step.  Errors  ConfigError if the walk has no such step.
std::string step_code(std::string_view step, const Plan& plan, const StepTable& table,
                      CodeLanguage language, Gradients gradients = Gradients::off);

/// Returns the line that sets print options; empty if all have their defaults.
std::string print_option_code(CodeLanguage language, const PrintOptions& options);

/// Returns the lines that draw or define an input of a walk, for one step: the rows of the list
/// with its name, then a given parameter in place of a drawn one. Empty for a step that is
/// computed, or drawn together with an earlier one.
std::string draw_code(const DrawList& list, std::string_view step, const Plan& plan,
                      CodeLanguage language, Gradients gradients);

}  // namespace attn
