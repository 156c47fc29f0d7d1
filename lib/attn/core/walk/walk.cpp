#include "attn/core/walk/walk.hpp"

#include <algorithm>

#include "attn/core/plan/plan.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/core/walk/memory_needs.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"

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

/// Returns the rounding of an expression: nothing if its numbers are those of a tensor.
RoundedAt rounding_in(const RuleNode& node) {
    using Kind = RuleNode::Kind;
    if (node.kind == Kind::cell || !reads_cells(node)) return RoundedAt::nothing;
    if (is_product(node)) return RoundedAt::result;
    const bool picks = node.kind == Kind::choose || node.type != RuleType::number ||
                       (node.kind == Kind::reduce && (node.word == "max" || node.word == "min"));
    if (!picks) return RoundedAt::operations;
    RoundedAt most = RoundedAt::nothing;
    for (const RuleTree& part : node.parts) most = std::max(most, rounding_in(*part));
    return most;
}

Rule rule_in(const PlannedStep& of) { return of.step.rule ? of.step.rule(of) : Rule(); }

Tensor rounded_step(const PlannedStep& of, const Ledger& ledger) {
    const Step& step = of.step;
    const DType type = step.stays_float32(of.plan) ? DType::float32 : of.plan.compute_dtype;
    if (rounded_at(of) != RoundedAt::operations) {
        return cast(compute_in_float32(step, of.plan, ledger), type);
    }
    const auto [axes, shape] = step.outline(of.plan);
    RuleScope scope = rule_scope(of.plan, ledger, step.name, step.names_steps());
    scope.own = Outline{axes, shape};
    return evaluate_rule(rule_in(of), axes, shape, type, scope);
}

}  // namespace

RoundedAt rounded_at(const PlannedStep& of) {
    const Step& step = of.step;
    const RoundedAt stated = step.rounds(of.plan);
    if (step.holds != RuleType::number || !step.compute) return RoundedAt::nothing;
    if (stated != RoundedAt::operations) return stated;
    if (of.plan.fused()) return RoundedAt::result;
    const Rule rule = rule_in(of);
    return rule.value == nullptr ? RoundedAt::nothing : rounding_in(*rule.value);
}

Tensor compute_in_float32(const Step& step, const Plan& plan, const Ledger& ledger) {
    Plan wide = plan;
    wide.compute_dtype = DType::float32;
    return step.compute(wide, ledger);
}

void perform(std::span<const Step> steps, const StepTable& table, const Plan& plan,
             const Ledger& given, Details details, Ledger& ledger) {
    const bool rounds = is_16_bit(plan.compute_dtype);
    for (const Step& step : steps) {
        if (!step.applies(plan)) continue;
        if (step.kind == Step::Kind::detail && details == Details::skipped) continue;
        const Tensor* known = given.find(step.name);
        if (known) {
            require_shape(step, plan, *known);
            ledger.record(step.name, with_axes_of(step, plan, *known));
        }
        if (step.compute && (!known || step.replaces_given)) {
            ledger.record(step.name, rounds ? rounded_step({plan, table, step}, ledger)
                                            : step.compute(plan, ledger));
        }
    }
}

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    require_memory(table, plan, details);
    Ledger ledger(chains_of(table));
    perform(table, table, plan, given, details, ledger);
    return ledger;
}

}  // namespace attn
