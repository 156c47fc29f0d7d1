#include "attn/walk/walk.hpp"

#include "attn/tensor/error.hpp"
#include "attn/walk/memory.hpp"
#include "attn/walk/row_blocks.hpp"

namespace attn {
namespace {

/// Records the tensor of one step: a given one, or what it computes from the ledger.
void perform(const Step& step, const Plan& plan, const Ledger& given, Ledger& ledger) {
    const Tensor* known = given.find(step.name);
    const bool starts = step.kind == Step::Kind::input || step.kind == Step::Kind::parameter;
    if (known && starts && known->shape() != step.outline(plan).shape) {
        throw ShapeError("the given " + step.name + " has shape " + shape_text(known->shape()) +
                         ", and this walk needs " + shape_text(step.outline(plan).shape) +
                         ": draw or give it for the same plan");
    }
    if (known) ledger.record(step.name, with_axes_of(step, plan, *known));
    if (step.compute && (!known || step.replaces_given)) {
        ledger.record(step.name, step.compute(plan, ledger));
    }
}

}  // namespace

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    require_memory(plan);
    const auto keeps = [&](const Step& step) {
        return step.applies(plan) && (step.kind != Step::Kind::detail || details == Details::kept);
    };
    Ledger ledger(chains_of(table));
    Ledger ahead;  // what blocks of rows have made of the steps to come
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Step& step = table[i];
        if (!keeps(step)) continue;
        if (step.rows && !ahead.has(step.name) && has_planned_shapes(plan, ledger, step)) {
            const RowSteps steps = row_steps_from(plan, given, table, i, keeps);
            Ledger before = ledger;
            for (const Step* other : steps.before) {
                perform(*other, plan, given, before);
                ahead.record(other->name, before[other->name]);
            }
            const Ledger made = evaluate_row_blocks(plan, before, steps, all_rows(plan));
            for (const auto& [name, tensor] : made.entries()) ahead.record(name, tensor);
        }
        if (const Tensor* tensor = ahead.find(step.name)) {
            ledger.record(step.name, *tensor);
        } else {
            perform(step, plan, given, ledger);
        }
    }
    return ledger;
}

}  // namespace attn
