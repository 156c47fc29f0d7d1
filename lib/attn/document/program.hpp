#pragma once
#include <string>

#include "attn/codegen/code.hpp"
#include "attn/document/document.hpp"

namespace attn {

/// Gives the sections of a walk their lines, the first one those of the setup too. A section named
/// after a part of a step, `weights[0]`, gets the lines of the step.
void add_code(Document& document, const Plan& plan, const StepTable& table, CodeLanguage language,
              const PrintOptions& options = {});

/// Gives the sections their tensors as lines, `weights = torch.tensor([[...]])`, in the place of
/// those that make them.
void add_literals(Document& document, CodeLanguage language, const PrintOptions& options = {});

/// Puts print options that are not the default after the imports of the first section.
void add_print_options(Document& document, CodeLanguage language, const PrintOptions& options);

/// The expression that a program prints after the lines of a section.
const std::string& printed_expression(const Section& section);

/// Moves the lines of sections that are not printed to the next one that is, so that what is
/// printed is a whole program. Parts of softmax that are not printed lose theirs.
void gather_code(Document& document);

}  // namespace attn
