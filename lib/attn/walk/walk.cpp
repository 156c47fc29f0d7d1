#include "attn/walk/walk.hpp"

#include "attn/plan/plan.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// Requires that inputs and parameters have the shapes of the plan.
void require_shape(const Step& step, const Plan& plan, const Tensor& given) {
    if (step.kind != Step::Kind::input && step.kind != Step::Kind::parameter) return;
    const Shape needed = step.outline(plan).shape;
    if (given.shape() == needed) return;
    throw ShapeError("the given " + step.name + " has shape " + shape_text(given.shape()) +
                     ", and this walk needs " + shape_text(needed) +
                     ": draw or give it for the same plan");
}

}  // namespace

void perform(std::span<const Step> steps, const Plan& plan, const Ledger& given, Details details,
             Ledger& ledger) {
    for (const Step& step : steps) {
        if (!step.applies(plan)) continue;
        if (step.kind == Step::Kind::detail && details == Details::skipped) continue;
        const Tensor* known = given.find(step.name);
        if (known) {
            require_shape(step, plan, *known);
            ledger.record(step.name, with_axes_of(step, plan, *known));
        }
        if (step.compute && (!known || step.replaces_given)) {
            ledger.record(step.name, step.compute(plan, ledger));
        }
    }
}

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    require_memory(plan);
    Ledger ledger(chains_of(table));
    perform(table, plan, given, details, ledger);
    return ledger;
}

}  // namespace attn
