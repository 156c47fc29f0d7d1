#include "attn/explain/codegen/code.hpp"

#include <algorithm>

#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns lines that make PyTorch record gradients of a step's drawn tensors, if the backward pass
/// reaches them.
std::string recording(const DrawList& list, const Step& step, const Plan& plan,
                      const StepTable& table) {
    std::string code;
    for (const DrawnTensor& row : list) {
        const bool is_given = plan.config.parameters.has(row.name);
        if (row.name.empty() || (is_given ? row.name : row.step) != step.name) continue;
        if (has_step(table, plan, "d_" + row.name))
            code += "\n" + python_name(row.name) + ".requires_grad_()";
    }
    return code;
}

/// True if code gives a tensor a second name, `key = x`: PyTorch would sum the gradients of both.
bool is_another_name(const std::string& step, const std::string& code) {
    const std::size_t end = code.rfind(step + " = ");
    const std::size_t line = code.rfind('\n') + 1;
    return end == line && code.find_first_of(" .[(", end + step.size() + 3) == std::string::npos;
}

/// True if code for a tensor reads another one that has a gradient: a rule may read none.
bool reads_gradients(const StepTable& table, const Plan& plan, const std::string& step,
                     const std::string& code) {
    return std::ranges::any_of(table, [&](const Step& other) {
        return other.name != step && has_step(table, plan, "d_" + other.name) &&
               has_name(code, python_name(other.name));
    });
}

/// True if gradients flow through a rule to a cell.
bool reads_beyond_stop(const RuleNode& node) {
    if (node.kind == RuleNode::Kind::cell) return true;
    return node.word != "stop" && std::ranges::any_of(node.parts, [](const RuleTree& part) {
               return reads_beyond_stop(*part);
           });
}

/// True if a user's rule chooses among its inputs, or stops their gradients: it may not depend on
/// any of them.
bool may_read_none(const StepLines& of) {
    const auto chooses = [](const auto& self, const RuleNode& node) -> bool {
        return node.kind == RuleNode::Kind::choose || node.word == "argmax" ||
               std::ranges::any_of(node.parts,
                                   [&](const RuleTree& part) { return self(self, *part); });
    };
    const std::optional<Rule> rule = of.step.of_user() ? rule_of(of) : std::nullopt;
    return rule && (chooses(chooses, *rule->value) || !reads_beyond_stop(*rule->value));
}

std::string seed_code(const WalkConfig& config) {
    const std::string seed = std::to_string(config.seed);
    switch (config.rng) {
        case Rng::torch:
            return "torch.manual_seed(" + seed + ")";
        case Rng::numpy:
            return "np.random.seed(" + seed + ")";
        case Rng::numpy_pcg64:
            break;
    }
    return "generator = np.random.default_rng(" + seed + ")";
}

}  // namespace

std::string print_option_code(CodeLanguage language, const PrintOptions& options) {
    const bool torch = language == CodeLanguage::torch;
    std::string arguments;
    const auto add = [&](const std::string& name, const std::string& value) {
        arguments += (arguments.empty() ? "" : ", ") + name + "=" + value;
    };
    if (options.precision) add("precision", std::to_string(*options.precision));
    if (options.threshold) {
        const bool never = *options.threshold == no_threshold;
        add("threshold", never ? (torch ? "float(\"inf\")" : "sys.maxsize")
                               : std::to_string(*options.threshold));
    }
    if (options.edgeitems) add("edgeitems", std::to_string(*options.edgeitems));
    if (options.linewidth) add("linewidth", std::to_string(*options.linewidth));
    if (options.sci_mode == SciMode::off)
        torch ? add("sci_mode", "False") : add("suppress", "True");
    if (options.sci_mode == SciMode::on && torch) add("sci_mode", "True");
    std::string code;
    if (torch && options.default_dtype == DType::float64) {
        code = "torch.set_default_dtype(torch.float64)\n";
    }
    if (arguments.empty()) return code;
    return code + (torch ? "torch" : "np") + ".set_printoptions(" + arguments + ")\n";
}

std::string setup_code(const Plan& plan, CodeLanguage language, const PrintOptions& options) {
    const WalkConfig& config = plan.config;
    const bool torch_draws = config.rng == Rng::torch;
    const bool portable = torch_draws && config.torch_build == TorchBuild::portable;
    const std::string print_options = print_option_code(language, options);

    std::string code = "import math\n";
    if (portable) code += "import os\n";
    if (print_options.find("sys.") != std::string::npos) code += "import sys\n";
    const auto has_word_seeds = [&](const DrawnTensor& row) {
        return !row.words.empty() && !config.parameters.has(row.name);
    };
    if (std::ranges::any_of(draw_list(plan), has_word_seeds)) code += "import zlib\n";
    code += "\n";
    if (portable) {
        code += "os.environ[\"ATEN_CPU_CAPABILITY\"] = \"default\"  # before torch is imported\n\n";
    }
    const bool has_brains = plan.dtype == DType::bfloat16 || plan.compute_dtype == DType::bfloat16;
    if (has_brains && language == CodeLanguage::numpy) {
        throw ConfigError(
            "NumPy has no bfloat16: pass $code torch, or $dtype float16 or float32"_message);
    }
    if (!torch_draws || language == CodeLanguage::numpy) code += "import numpy as np\n";
    if (torch_draws || language == CodeLanguage::torch) code += "import torch\n";
    if (language == CodeLanguage::torch) code += "import torch.nn.functional as F\n";
    code += "\n";
    if (language == CodeLanguage::torch && is_16_bit(plan.compute_dtype)) {
        code +=
            "# Sums run in float32, as in newer builds: 1.13 adds up small products in 16 bits.\n"
            "matmul = torch.Tensor.__matmul__\n"
            "torch.Tensor.__matmul__ = lambda a, b: matmul(a.float(), b.float()).to(a.dtype)\n\n";
    }
    return code + print_options + seed_code(config);
}

std::vector<StepCode> program_of(const Plan& plan, const StepTable& table, CodeLanguage language,
                                 Gradients gradients) {
    const DrawList list = draw_list(plan);
    const bool records = uses_autograd(table, language);
    std::vector<StepCode> program;
    for (const Step& step : table) {
        if (!step.applies(plan)) continue;
        std::string code = draw_code(list, step.name, plan, language, gradients);
        if (records) code += recording(list, step, plan, table);
        if (has_lines(step) && (step.replaces_given || !find_drawn(list, step.name))) {
            const StepLines of{{plan, table, step}, language};
            code += (code.empty() ? "" : "\n") + lines_of(of);
            const bool has_backward = records && has_step(table, plan, "d_" + step.name);
            if (has_backward && is_another_name(of.name(), code)) code += ".clone()";
            if (has_backward &&
                (may_read_none(of) || !reads_gradients(table, plan, step.name, code))) {
                code += "\n" + of.name() + ".requires_grad_()";
            }
        }
        program.push_back({step.name, std::move(code)});
    }
    return program;
}

std::string step_code(std::string_view step, const Plan& plan, const StepTable& table,
                      CodeLanguage language, Gradients gradients) {
    for (StepCode& part : program_of(plan, table, language, gradients)) {
        if (part.step == step) return std::move(part.code);
    }
    throw ConfigError("this walk has no step " + std::string(step) +
                      ": $list-steps lists those it has"_message);
}
}  // namespace attn
