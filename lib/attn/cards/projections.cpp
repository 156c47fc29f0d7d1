#include "attn/cards/cards.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/projection.hpp"

namespace attn {
namespace {

/// True when the plan makes query, key and value from x.
bool projects(const Plan& plan) { return plan.config.projection != Projection::none; }

/// True when all three come out of a single product, x times w_qkv.
bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

/// True when a projection gives all heads side by side, so that they still have to be split.
bool splits_projected(const Plan& plan) {
    return projects(plan) && plan.has_head && !plan.head_axis_on_weight() && !one_product(plan);
}

/// The rows (out) of a fused parameter that belong to one part.
template <class T>
Array<T> part_of_fused(const Plan& plan, const Array<T>& parameter, const Projected& part) {
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
Array<T> projected(const Plan& plan, const Ledger& ledger, const Projected& part) {
    const std::string name = part.parameter(plan);
    Array<T> weight = ledger["w_" + name].as<T>();
    const Tensor* bias_tensor = ledger.find("b_" + name);
    Array<T> bias = bias_tensor ? bias_tensor->as<T>() : empty_array<T>({0});
    if (plan.one_weight()) {
        weight = part_of_fused(plan, weight, part);
        if (bias_tensor != nullptr) bias = part_of_fused(plan, bias, part);
    }
    const auto project = twin(plan, loop::project<T>, vectorized::project<T>);
    return project(ledger[part.source(plan)].as<T>(), weight, bias, *plan.config.weight_layout,
                   plan.arithmetic);
}

Tensor compute_projected(const Plan& plan, const Ledger& ledger, const Projected& part) {
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
Tensor compute_part(const Plan& plan, const Ledger& ledger, const Projected& part) {
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
            return {axes, split(ledger["projected_" + part.name].as<T>(), plan.heads)};
        }
        if (projects(plan)) return {axes, projected<T>(plan, ledger, part)};
        const Array<T>& itself = ledger[part.source(plan)].as<T>();
        return {axes, plan.has_head ? split(itself, plan.heads) : itself};
    });
}

/// x @ W^T + b, with the names of this plan.
std::string product_formula(const Plan& plan, const std::string& source, const std::string& weight,
                            const std::string& bias) {
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    return source + " @ " + weight + (out_in ? "^T" : "") + (plan.config.bias ? " + " + bias : "");
}

std::string projection_formula(const Plan& plan, const Projected& part) {
    return product_formula(plan, part.source(plan),
                           plan.one_weight() ? part.name + " rows of w_qkv" : "w_" + part.name,
                           plan.one_weight() ? "its part of b_qkv" : "b_" + part.name);
}

std::string part_formula(const Plan& plan, const Projected& part) {
    const std::string& name = part.name;
    if (one_product(plan)) return name + " = the " + name + " features of qkv, head by head";
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
    return name + " = " + part.source(plan) + (plan.has_head ? ", features of each head" : "");
}

/// A projection reads its source, its weight and, where there is one, its bias.
std::vector<Input> product_inputs(const Plan& plan, const std::string& source,
                                  const std::string& parameter) {
    std::vector<Input> inputs{source, "w_" + parameter};
    if (plan.config.bias) inputs.push_back("b_" + parameter);
    return inputs;
}

std::vector<Input> part_inputs(const Plan& plan, const Projected& part) {
    if (one_product(plan)) return {"qkv"};
    if (splits_projected(plan)) return {"projected_" + part.name};
    if (projects(plan)) return product_inputs(plan, part.source(plan), part.parameter(plan));
    if (plan.has_x()) return {part.source(plan)};
    return {};
}

Step projected_card(const Projected& part) {
    return {
        .name = "projected_" + part.name,
        .title = "the " + part.name + " of all heads, side by side",
        .applies = splits_projected,
        .reads =
            [part](const Plan& plan) {
                return product_inputs(plan, part.source(plan), part.parameter(plan));
            },
        .outline =
            [part](const Plan& plan) {
                return Outline{
                    plan.per_batch_axes(part.position, "feature"),
                    plan.per_batch_shape(part.length(plan), plan.heads * part.width(plan))};
            },
        .formula =
            [part](const PlannedStep& of) {
                return "projected_" + part.name + " = " + projection_formula(of.plan, part);
            },
        .compute = [part](const Plan& plan,
                          const Ledger& ledger) { return compute_projected(plan, ledger, part); },
    };
}

Step qkv_card() {
    return {
        .name = "qkv",
        .title = "query, key and value of all heads in one product",
        .applies = one_product,
        .reads = [](const Plan& plan) { return product_inputs(plan, "x", "qkv"); },
        .outline =
            [](const Plan& plan) {
                return Outline{
                    plan.per_batch_axes("query", "feature"),
                    plan.per_batch_shape(plan.query_len,
                                         plan.heads * (2 * plan.head_dim + plan.value_dim))};
            },
        .formula =
            [](const PlannedStep& of) {
                return "qkv = " + product_formula(of.plan, "x", "w_qkv", "b_qkv");
            },
        .compute = compute_qkv,
    };
}

Step part_card(const Projected& part) {
    static constexpr std::array titles{"what each token looks for",
                                       "what each token can be found by",
                                       "what each token contributes when it is attended to"};
    static constexpr std::array chains{Chain::queries, Chain::keys, Chain::values};
    return {
        .name = part.name,
        .title = titles[part.number],
        .chain = chains[part.number],
        .reads = [part](const Plan& plan) { return part_inputs(plan, part); },
        .outline =
            [part](const Plan& plan) {
                return Outline{plan.per_head_axes(part.position, "feature"),
                               plan.per_head_shape(part.length(plan), part.width(plan))};
            },
        .formula = [part](const PlannedStep& of) { return part_formula(of.plan, part); },
        .compute = [part](const Plan& plan,
                          const Ledger& ledger) { return compute_part(plan, ledger, part); },
    };
}

}  // namespace

StepTable projection_cards() {
    StepTable cards;
    for (const Projected& part : query_key_value()) cards.push_back(projected_card(part));
    cards.push_back(qkv_card());
    for (const Projected& part : query_key_value()) cards.push_back(part_card(part));
    return cards;
}

}  // namespace attn
