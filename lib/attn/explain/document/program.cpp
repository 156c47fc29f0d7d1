#include "attn/explain/document/document.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "attn/explain/codegen/step_lines.hpp"

namespace attn {
namespace {

/// Returns the step that a section shows: its name without a slice.
std::string_view step_of(const Section& section) {
    return std::string_view(section.name).substr(0, section.name.find('['));
}

}  // namespace

void add_code(Document& document, const Plan& plan, const StepTable& table, CodeLanguage language,
              const PrintOptions& options) {
    const std::vector<StepCode> program = program_of(plan, table, language);
    const bool has_backward = uses_autograd(table, language);
    for (Section& section : document.sections) {
        const auto part = std::find_if(program.begin(), program.end(), [&](const StepCode& code) {
            return code.step == step_of(section);
        });
        if (part != program.end()) section.code = part->code;
        const auto* tensor = std::get_if<Tensor>(&section.content);
        const bool records = tensor != nullptr && tensor->is_floating() && has_backward &&
                             !section.name.starts_with("d_");
        // PyTorch prints a suffix for tensors that record gradients.
        const std::string step(step_of(section)), name = python_name(step);
        if (records || name != step) {
            section.expression =
                name + section.name.substr(step.size()) + (records ? ".detach()" : "");
        }
    }
    if (document.sections.empty()) return;
    std::string& first = document.sections.front().code;
    first = setup_code(plan, language, options) + (first.empty() ? "" : "\n\n" + first);
}

void add_literals(Document& document, CodeLanguage language, const PrintOptions& options) {
    for (Section& section : document.sections) {
        const auto& tensor = std::get<Tensor>(section.content);
        section.code =
            python_name(section.name) + " = " + tensor_literal(tensor, tensor.dtype(), language);
    }
    if (document.sections.empty()) return;
    std::string& first = document.sections.front().code;
    first =
        (language == CodeLanguage::torch ? "import torch\n\n" : "import numpy as np\n\n") + first;
    add_print_options(document, language, options);
}

void add_print_options(Document& document, CodeLanguage language, const PrintOptions& options) {
    std::string code = print_option_code(language, options);
    if (code.empty() || document.sections.empty()) return;
    const std::string module =
        language == CodeLanguage::torch ? "import torch\n" : "import numpy as np\n";
    std::string& first = document.sections.front().code;
    const std::size_t import = first.find(module);
    if (import == std::string::npos) return;
    if (code.find("sys.") != std::string::npos) code = "import sys\n" + code;
    first.insert(import + module.size(), code);
}

const std::string& printed_expression(const Section& section) {
    return section.expression.empty() ? section.name : section.expression;
}

void gather_code(Document& document) {
    // A part of another step is kept if it is shown, or if a kept section needs it.
    std::set<std::string> needed;
    for (std::size_t i = document.sections.size(); i-- > 0;) {
        Section& section = document.sections[i];
        if (!section.detail) continue;
        if (section.shown || needed.contains(section.name)) {
            needed.insert(section.name);
            needed.insert(section.reads.begin(), section.reads.end());
        } else {
            section.code.clear();
        }
    }
    std::string waiting;
    for (Section& section : document.sections) {
        if (!waiting.empty() && !section.code.empty()) waiting += "\n";
        waiting += section.code;
        section.code.clear();
        if (section.shown) section.code = std::exchange(waiting, {});
    }
}

}  // namespace attn
