#pragma once
#include "attn/walk/step.hpp"

namespace attn {

// The step table is written in four parts, one file each, in the order of the steps.
StepTable input_steps();
StepTable parameter_steps();
StepTable projection_steps();
StepTable attention_steps();

/// What stands in place of scores, weights and all between them where attention goes block by
/// block, and how it makes the context.
StepTable fused_steps();
Tensor fused_context(const Plan& plan, const Ledger& ledger);

/// w_output and b_output, which stand right before the step that reads them.
StepTable output_parameter_steps();

/// Of two twins the one that the plan asks for.
template <class Function>
Function twin(const Plan& plan, Function in_loops, Function in_arrays) {
    return plan.config.variant == Variant::loop ? in_loops : in_arrays;
}

/// The number as a formula shows it: `2`, `1.414`.
std::string short_number(double number);

/// A formula that is the same for every plan.
inline std::function<std::string(const Plan&)> always(std::string formula) {
    return [formula = std::move(formula)](const Plan&) { return formula; };
}

}  // namespace attn
