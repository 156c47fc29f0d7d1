#pragma once
#include <string>

#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/explain/codegen/python.hpp"

namespace attn {

/// The library that generated lines are written for.
enum class CodeLanguage { torch, numpy };

/// A step that writes its lines in one language, which read the variables of the steps before it.
struct StepLines : PlannedStep {
    CodeLanguage language;

    bool torch() const { return language == CodeLanguage::torch; }
    /// `torch` or `np`.
    std::string module() const { return torch() ? "torch" : "np"; }
    bool out_in() const { return *plan.config.weight_layout == WeightLayout::out_in; }

    /// What the program calls the latest of a chain, that of the step's own, and the step.
    std::string latest(Chain chain) const { return python_name(PlannedStep::latest(chain)); }
    std::string before() const { return python_name(PlannedStep::before()); }
    std::string name() const { return python_name(step.name); }

    /// The tensor with two axes exchanged.
    std::string swapped(const std::string& name, const std::string& axes) const {
        return name + (torch() ? ".transpose(" : ".swapaxes(") + axes + ")";
    }

    /// `x @ weight.T + bias`
    std::string product(const std::string& x, const std::string& weight, const std::string& bias,
                        bool has_bias) const {
        return x + " @ " + weight + (out_in() ? ".T" : "") + (has_bias ? " + " + bias : "");
    }
};

/// Whether the lines of a walk leave its way back to PyTorch: not where a gradient is another than
/// PyTorch's.
bool goes_back_by_itself(const StepTable& table, CodeLanguage language);

/// The type in which a step is computed: float32 where 16 bits are only what the result is rounded
/// to.
DType type_within(const StepLines& of);

/// The lines of Python that make the tensor of a completed rule in the type of the walk.
std::string rule_lines(const Rule& rule, const StepLines& of, const Outline& made);

/// The lines of the step's own rule; empty without one.
std::string lines_by_rule(const StepLines& of);

/// The lines that make the step: its own (Step::code), the field's, or its rule's.
std::string lines_of(const StepLines& of);
/// The lines that make the step if it has none of its own.
std::string card_lines(const StepLines& of);
/// True if there are lines that make the step.
inline bool has_lines(const Step& step) { return step.code || step.rule; }

/// The sizes as arguments: `2, 4, 8`.
std::string size_list(const Shape& shape);

/// The sizes as Python's tuple: `(2, 4, 8)`, `(8,)`, `()`.
std::string size_tuple(const Shape& shape);

/// `torch.float64`, `np.bool_`: the type as the language names it.
std::string dtype_code(DType dtype, CodeLanguage language);

/// The tensor written out, `torch.tensor([[1, 2]])` or `np.array([[1, 2]])`, with digits that read
/// back to the same bits. Floating values become `dtype`.
std::string tensor_literal(const Tensor& tensor, DType dtype, CodeLanguage language);

}  // namespace attn
