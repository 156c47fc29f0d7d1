#include "attn/steps/heads.hpp"
#include "attn/steps/projection.hpp"
#include "attn/walk/table_parts.hpp"

namespace attn {
namespace {

/// One of query, key and value, as the table speaks of it.
struct Part {
    std::size_t number;
    const char* name;
    const char* position;  ///< its token axis
};

constexpr std::array<Part, 3> parts{
    {{0, "query", "query"}, {1, "key", "key"}, {2, "value", "key"}}};

/// True when the plan makes query, key and value from x.
bool projects(const Plan& plan) { return plan.config.projection != Projection::none; }

/// True when all three come out of a single product, x times w_qkv.
bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

/// True when a projection gives all heads side by side, so that they still have to be split.
bool splits_projected(const Plan& plan) {
    return projects(plan) && plan.has_head && !plan.head_axis_on_weight() && !one_product(plan);
}

const Tensor& source_of(const Part& part, const Plan& plan, const Ledger& ledger) {
    return part.number > 0 && plan.has_memory ? ledger["memory"] : ledger["x"];
}

/// The rows (out) of a fused parameter that belong to one part.
template <class T>
Array<T> part_of_fused(const Plan& plan, const Array<T>& parameter, const Part& part) {
    const std::vector<std::size_t> features = plan.fused_features(part.number);
    if (parameter.dimension() == 1 || *plan.config.weight_layout == WeightLayout::in_out) {
        return take_features(parameter, features);
    }
    const std::size_t width = parameter.shape(1);
    Array<T> rows = empty_array<T>({features.size(), width});
    for (std::size_t r = 0; r < features.size(); ++r) {
        std::copy_n(parameter.data() + features[r] * width, width, rows.data() + r * width);
    }
    return rows;
}

/// x (or memory) times the weight of one part, plus its bias.
template <class T>
Array<T> projected(const Plan& plan, const Ledger& ledger, const Part& part) {
    const std::string name = plan.one_weight() ? "qkv" : part.name;
    Array<T> weight = ledger["w_" + name].as<T>();
    const Tensor* bias_tensor = ledger.find("b_" + name);
    Array<T> bias = bias_tensor ? bias_tensor->as<T>() : empty_array<T>({0});
    if (plan.one_weight()) {
        weight = part_of_fused(plan, weight, part);
        if (bias_tensor != nullptr) bias = part_of_fused(plan, bias, part);
    }
    const auto project = twin(plan, loop::project<T>, vectorized::project<T>);
    return project(source_of(part, plan, ledger).as<T>(), weight, bias, *plan.config.weight_layout,
                   plan.arithmetic);
}

Tensor compute_projected(const Plan& plan, const Ledger& ledger, const Part& part) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        return {plan.per_batch_axes(part.position, "feature"),
                projected<decltype(zero)>(plan, ledger, part)};
    });
}

Tensor compute_qkv(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor* bias = ledger.find("b_qkv");
        const auto project = twin(plan, loop::project<T>, vectorized::project<T>);
        return {plan.per_batch_axes("query", "feature"),
                project(ledger["x"].as<T>(), ledger["w_qkv"].as<T>(),
                        bias ? bias->as<T>() : empty_array<T>({0}), *plan.config.weight_layout,
                        plan.arithmetic)};
    });
}

/// query, key or value: cut out of qkv, split into heads, projected, or x itself.
Tensor compute_part(const Plan& plan, const Ledger& ledger, const Part& part) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Axes axes = plan.per_head_axes(part.position, "feature");
        const auto split = twin(plan, loop::split_heads<T>, vectorized::split_heads<T>);
        if (one_product(plan)) {
            const Array<T> features =
                take_features(ledger["qkv"].as<T>(), plan.fused_features(part.number));
            return {axes, split(features, plan.heads)};
        }
        if (splits_projected(plan)) {
            const std::string name = std::string("projected_") + part.name;
            return {axes, split(ledger[name].as<T>(), plan.heads)};
        }
        if (projects(plan)) return {axes, projected<T>(plan, ledger, part)};
        const Array<T>& itself = source_of(part, plan, ledger).as<T>();
        return {axes, plan.has_head ? split(itself, plan.heads) : itself};
    });
}

std::string projection_formula(const Plan& plan, const Part& part) {
    const std::string source = part.number > 0 && plan.has_memory ? "memory" : "x";
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    const std::string weight = plan.one_weight() ? std::string(part.name) + " rows of w_qkv"
                                                 : std::string("w_") + part.name;
    const std::string bias = !plan.config.bias   ? ""
                             : plan.one_weight() ? std::string(" + its part of b_qkv")
                                                 : std::string(" + b_") + part.name;
    return source + " @ " + weight + (out_in ? "^T" : "") + bias;
}

std::string part_formula(const Plan& plan, const Part& part) {
    const std::string name = part.name;
    if (one_product(plan)) {
        return name + " = the " + name + " features of qkv, head by head";
    }
    if (splits_projected(plan)) {
        return name + "(h, t) = projected_" + name + "(t), features of head h";
    }
    if (projects(plan)) return name + " = " + projection_formula(plan, part);
    if (!plan.has_x()) {
        if (plan.config.parameters.has(name)) return name + " as given";
        const bool normal =
            std::get<RandomInput>(plan.config.input).distribution == Distribution::normal;
        return name + (normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
    }
    return name + " = " + (part.number > 0 && plan.has_memory ? "memory" : "x") +
           (plan.has_head ? ", features of each head" : "");
}

std::string part_title(const Part& part) {
    static constexpr std::array titles{"what each token looks for",
                                       "what each token can be found by",
                                       "what each token hands over when it is found"};
    return titles[part.number];
}

}  // namespace

StepTable projection_steps() {
    StepTable steps;
    for (const Part& part : parts) {
        Step step;
        step.name = std::string("projected_") + part.name;
        step.title = std::string("the ") + part.name + " of all heads, side by side";
        step.applies = splits_projected;
        step.formula = [part](const Plan& plan) {
            return std::string("projected_") + part.name + " = " + projection_formula(plan, part);
        };
        step.compute = [part](const Plan& plan, const Ledger& ledger) {
            return compute_projected(plan, ledger, part);
        };
        steps.push_back(std::move(step));
    }

    Step qkv;
    qkv.name = "qkv";
    qkv.title = "query, key and value of all heads in one product";
    qkv.applies = one_product;
    qkv.formula = [](const Plan& plan) {
        const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
        return std::string("qkv = x @ w_qkv") + (out_in ? "^T" : "") +
               (plan.config.bias ? " + b_qkv" : "");
    };
    qkv.compute = compute_qkv;
    steps.push_back(std::move(qkv));

    for (const Part& part : parts) {
        Step step;
        step.name = part.name;
        step.title = part_title(part);
        step.applies = [](const Plan&) { return true; };
        step.formula = [part](const Plan& plan) { return part_formula(plan, part); };
        step.compute = [part](const Plan& plan, const Ledger& ledger) {
            return compute_part(plan, ledger, part);
        };
        steps.push_back(std::move(step));
    }
    return steps;
}

}  // namespace attn
