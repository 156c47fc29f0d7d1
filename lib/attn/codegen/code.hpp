#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/render/document.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// The library that generated lines are written for.
enum class CodeLanguage { torch, numpy };

/// Whether generated PyTorch lines record gradients, which shows in the printed form.
enum class Gradients { off, on };

/// Lines that make one step of a walk.
struct StepCode {
    std::string step;
    std::string code;
};

/// What stands above the first step: imports, the seed, and print options that are not the default.
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

/// Gives the sections of a walk their lines, the first one those of the setup too. A section named
/// after a part of a step, `weights[0]`, gets the lines of the step.
void add_code(Document& document, const Plan& plan, const StepTable& table, CodeLanguage language,
              const PrintOptions& options = {});

/// Puts print options that are not the default behind the imports of the first section.
void add_print_options(Document& document, CodeLanguage language, const PrintOptions& options);

/// What the lines of a section leave to be printed.
const std::string& printed_expression(const Section& section);

/// Moves the lines of sections that are not printed to the next one that is, so that what is
/// printed is a whole program. Parts of softmax that are not printed lose theirs.
void gather_code(Document& document);

}  // namespace attn
