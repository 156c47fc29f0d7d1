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

/// Lines that make one step of a walk.
struct StepCode {
    std::string step;
    std::string code;
};

/// Lines before the first step: imports, the seed, and print options that are not the default.
///
/// A plan that follows the portable build asks PyTorch for its portable kernels.
std::string setup_code(const Plan& plan, CodeLanguage language, const PrintOptions& options = {});

/// The lines of every step that the walk has, in the order of the step table. Run after
/// `setup_code`, each gives its variable, named like the step, the numbers of this very walk: same
/// draws in the same order, same types, masks, scale and axes.
///
/// Draws are made by the library whose generator the plan follows, whatever the language of the
/// rest. The projection weights are drawn in one piece, by the first of their steps.
std::vector<StepCode> program_of(const Plan& plan, const StepTable& table, CodeLanguage language,
                                 Gradients gradients = Gradients::off);

/// The lines of one step.  Errors  ConfigError when the walk has no such step.
std::string step_code(std::string_view step, const Plan& plan, const StepTable& table,
                      CodeLanguage language, Gradients gradients = Gradients::off);

/// The line that sets print options which are not the default; empty when all are.
std::string print_option_code(CodeLanguage language, const PrintOptions& options);

/// The lines that draw or give what a walk starts from, of one step: the rows of the list that name
/// it, then a given parameter in the place of the drawn one. Empty for a step that is computed, or
/// drawn together with one before it.
std::string draw_code(const DrawList& list, std::string_view step, const Plan& plan,
                      CodeLanguage language, Gradients gradients);

}  // namespace attn
