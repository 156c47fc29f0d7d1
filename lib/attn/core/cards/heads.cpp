#include "attn/core/steps/heads.hpp"

#include <algorithm>

#include "attn/core/cards/cards.hpp"

namespace attn {
namespace {

/// query, key or value: cut out of qkv, split into heads, projected, or x itself.
Tensor compute_part(const Plan& plan, const Ledger& ledger, const Projected& part) {
    const Axes axes = plan.per_head_axes(part.axis(plan), "feature");
    if (projects(plan) && !one_product(plan) && !splits_projected(plan)) {
        return project_part(plan, ledger, part, axes);
    }
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const auto split = twin(plan, loop::split_heads<T>, vectorized::split_heads<T>);
        if (one_product(plan)) {
            const Array<T> features =
                take_features(ledger["qkv"].as<T>(), plan.fused_features(part.number));
            return {axes, split(features, part.heads(plan))};
        }
        if (splits_projected(plan)) {
            return {axes, split(ledger["projected_" + part.name].as<T>(), part.heads(plan))};
        }
        const Array<T>& itself = ledger[part.source(plan)].as<T>();
        return {axes, plan.has_head ? split(itself, plan.heads) : itself};
    });
}

/// How the field writes it where it is a product; where it comes from where it is drawn or given.
std::string part_formula(const Plan& plan, const Projected& part) {
    if (projects(plan) && !one_product(plan) && !splits_projected(plan)) {
        return projection_formula(plan, part);
    }
    if (plan.has_x()) return {};
    if (plan.config.parameters.has(part.name)) return part.name + " as given";
    const bool normal =
        std::get<RandomInput>(plan.config.input).distribution == Distribution::normal;
    return part.name + (normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
}

std::string part_rule(const Plan& plan, const Projected& part) {
    const std::string h = plan.has_head ? "h" : "";
    const std::string left = part.name + (plan.has_head ? "[h,t,f]" : "[t,f]");
    if (one_product(plan)) return left + " = qkv[t, " + fused_index(plan, part, h) + "]";
    if (projects(plan)) {
        return projection_rule(plan, part, left, plan.head_axis_on_weight() ? "h,f" : "f");
    }
    if (!plan.has_x()) return {};
    return left + " = " + part.source(plan) + "[t, " + split_index(part, plan, h) + "]";
}

std::vector<Input> part_inputs(const Plan& plan, const Projected& part) {
    if (one_product(plan)) return {"qkv"};
    if (splits_projected(plan)) return {"projected_" + part.name};
    if (projects(plan)) return projection_inputs(plan, part);
    if (plan.has_x()) return {part.source(plan)};
    return {};
}

/// Whether the text says how the part is made: of x alone, by a matrix of its own.
bool is_as_written(const Plan& plan) {
    return splits_projected(plan) || (projects(plan) && !plan.has_head && !plan.one_weight());
}

void complete_part(Step& step, const Projected& part) {
    step.reads = [part](const Plan& plan) { return part_inputs(plan, part); };
    step.outline = [part](const Plan& plan) {
        return Outline{plan.per_head_axes(part.axis(plan), "feature"),
                       plan.per_head_shape(part.length(plan), part.width(plan), part.heads(plan))};
    };
    step.rule = [part, as_written = step.rule](const PlannedStep& of) -> Rule {
        if (is_as_written(of.plan)) return as_written(of);
        return part_rule(of.plan, part);
    };
    step.formula = [part](const PlannedStep& of) { return part_formula(of.plan, part); };
    step.compute = [part](const Plan& plan, const Ledger& ledger) {
        return compute_part(plan, ledger, part);
    };
}

void complete_projected(Step& step, const Projected& part) {
    step.reads = [part](const Plan& plan) { return projection_inputs(plan, part); };
    step.outline = [part](const Plan& plan) {
        return Outline{plan.per_batch_axes(part.axis(plan), "feature"),
                       plan.per_batch_shape(part.length(plan), part.all_features(plan))};
    };
    step.rule = [part, as_written = step.rule](const PlannedStep& of) -> Rule {
        if (!of.plan.one_weight()) return as_written(of);
        return projection_rule(of.plan, part, of.step.name + "[t,o]", "o");
    };
    step.formula = [part](const PlannedStep& of) { return projection_formula(of.plan, part); };
    step.compute = [part](const Plan& plan, const Ledger& ledger) {
        return project_part(plan, ledger, part, plan.per_batch_axes(part.axis(plan), "feature"));
    };
}

}  // namespace

void complete_projections(StepTable& table) {
    for (const Projected& part : query_key_value()) {
        complete_part(*std::ranges::find(table, part.name, &Step::name), part);
        complete_projected(*std::ranges::find(table, "projected_" + part.name, &Step::name), part);
    }
}

}  // namespace attn
