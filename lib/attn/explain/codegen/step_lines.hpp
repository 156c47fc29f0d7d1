#pragma once
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/explain/codegen/python.hpp"

namespace attn {

/// The library for which code is generated.
enum class CodeLanguage { torch, numpy };

/// A step whose code is written in one language, and reads the variables of earlier steps.
struct StepLines : PlannedStep {
    CodeLanguage language;

    bool torch() const { return language == CodeLanguage::torch; }
    /// `torch` or `np`.
    std::string module() const { return torch() ? "torch" : "np"; }
    bool out_in() const { return *plan.config.weight_layout == WeightLayout::out_in; }

    /// Variable names for the latest of a chain, for the previous one of the step's own chain, and
    /// for the step.
    std::string latest(Chain chain) const { return python_name(PlannedStep::latest(chain)); }
    std::string before() const { return python_name(PlannedStep::before()); }
    std::string name() const { return python_name(step.name); }

    /// Exchanges two axes of a tensor.
    std::string swapped(const std::string& name, const std::string& axes) const {
        return name + (torch() ? ".transpose(" : ".swapaxes(") + axes + ")";
    }

    /// `x @ weight.T + bias`
    std::string product(const std::string& x, const std::string& weight, const std::string& bias,
                        bool has_bias) const {
        return x + " @ " + weight + (out_in() ? ".T" : "") + (has_bias ? " + " + bias : "");
    }
};

/// True if the code of a walk uses PyTorch's autograd: false if some gradient differs from it.
bool uses_autograd(const StepTable& table, CodeLanguage language);

/// Returns the type in which a step is computed: float32 if only the result is rounded to 16 bits.
DType type_within(const StepLines& of);

/// Returns the Python lines for a completed rule, in the type of the walk.
std::string rule_lines(const Rule& rule, const StepLines& of, const Outline& outline);

/// Returns the lines for the step's own rule; empty without one.
std::string lines_by_rule(const StepLines& of);

/// Returns the lines for the step: its own (Step::code), the usual ones, or those of its rule.
std::string lines_of(const StepLines& of);
/// Returns the lines for a step that has none of its own.
std::string card_lines(const StepLines& of);
/// True if the step has code.
inline bool has_lines(const Step& step) { return step.code || step.rule; }

/// Returns sizes as arguments: `2, 4, 8`.
std::string size_list(const Shape& shape);

/// Returns sizes as a Python tuple: `(2, 4, 8)`, `(8,)`, `()`.
std::string size_tuple(const Shape& shape);

/// Returns the name of the type: `torch.float64`, `np.bool_`.
std::string dtype_code(DType dtype, CodeLanguage language);

/// Returns a tensor literal, `torch.tensor([[1, 2]])` or `np.array([[1, 2]])`, with digits that
/// read back to the same bits. Floating-point values become `dtype`.
std::string tensor_literal(const Tensor& tensor, DType dtype, CodeLanguage language);

}  // namespace attn
