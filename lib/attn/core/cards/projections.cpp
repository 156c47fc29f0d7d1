#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/projection.hpp"

namespace attn {
namespace {

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

std::vector<Input> product_inputs(const Plan& plan, const std::string& source,
                                  const std::string& parameter) {
    std::vector<Input> inputs{source, "w_" + parameter};
    if (plan.config.bias) inputs.push_back("b_" + parameter);
    return inputs;
}

Step qkv_card() {
    return product_card({
        .name = "qkv",
        .title = "query, key and value of all heads in one product",
        .parameter = "qkv",
        .source = [](const Plan& plan) { return plan.projected_x(); },
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_batch_axes("query", "feature"),
                               plan.per_batch_shape(plan.query_len, plan.qkv_features())};
            },
        .applies = one_product,
        .has_bias = [](const Plan& plan) { return plan.config.bias; },
    });
}

}  // namespace

Step product_card(const ProductStep& product) {
    const std::string weight = "w_" + product.parameter;
    const std::string bias = "b_" + product.parameter;
    return with_loop(
        {
            .name = product.name,
            .title = product.title,
            .chain = product.chain,
            .applies = product.applies,
            .reads =
                [=](const Plan& plan) {
                    std::vector<Input> inputs{product.source(plan), weight};
                    if (product.has_bias(plan)) inputs.push_back(bias);
                    return inputs;
                },
            .outline = product.outline,
            .rule =
                [product](const PlannedStep& of) {
                    return product_rule(of.plan, product.name + "[t,o]",
                                        of.name_of(product.source(of.plan)), product.parameter, "o",
                                        product.has_bias(of.plan));
                },
            .formula =
                [=](const PlannedStep& of) {
                    return product_formula(of.plan, of.name_of(product.source(of.plan)), weight,
                                           product.has_bias(of.plan) ? bias : "");
                },
        },
        []<class T>(const LoopInputs<T>& in) {
            const auto project = in.twin(loop::project<T>, vectorized::project<T>);
            return project(in[0], in[1], in.or_none(2), *in.plan.config.weight_layout,
                           in.plan.arithmetic);
        });
}

Tensor project_part(const Plan& plan, const Ledger& ledger, const Projected& part, Axes axes) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const std::string name = part.parameter(plan);
        Array<T> weight = ledger["w_" + name].as<T>();
        const Tensor* bias_tensor = ledger.find("b_" + name);
        Array<T> bias = bias_tensor ? bias_tensor->as<T>() : empty_array<T>({0});
        if (plan.one_weight()) {
            weight = part_of_fused(plan, weight, part);
            if (bias_tensor != nullptr) bias = part_of_fused(plan, bias, part);
        }
        const auto project = twin(plan, loop::project<T>, vectorized::project<T>);
        return {std::move(axes), project(ledger[part.source(plan)].as<T>(), weight, bias,
                                         *plan.config.weight_layout, plan.arithmetic)};
    });
}

std::vector<Input> projection_inputs(const Plan& plan, const Projected& part) {
    return product_inputs(plan, part.source(plan), part.parameter(plan));
}

std::string product_rule(const Plan& plan, const std::string& left, const std::string& source,
                         const std::string& parameter, const std::string& out, bool has_bias) {
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    const std::size_t last = out.find_last_of(',') + 1;  // what is before it is the head
    const std::string weight =
        out.substr(0, last) + (out_in ? out.substr(last) + ",c" : "c," + out.substr(last));
    const std::string sum = "sum c: " + source + "[t,c] * w_" + parameter + "[" + weight + "]";
    return left + " = " + (has_bias ? "(" + sum + ") + b_" + parameter + "[" + out + "]" : sum);
}

std::string projection_rule(const Plan& plan, const Projected& part, const std::string& left,
                            const std::string& out) {
    std::string place = out;
    if (plan.one_weight()) {
        const std::string first = std::to_string(plan.fused_features(part.number).front());
        const std::string width = std::to_string(part.width(plan));
        place = first + " + " + out;
        if (plan.config.projection == Projection::fused_by_head) {
            const std::string block = std::to_string(2 * plan.head_dim + plan.value_dim);
            place =
                out + " / " + width + " * " + block + " + " + first + " + " + out + " % " + width;
        }
    }
    return product_rule(plan, left, part.source(plan), part.parameter(plan), place,
                        plan.config.bias);
}

std::string fused_index(const Plan& plan, const Projected& part, const std::string& h) {
    const std::string first = std::to_string(plan.fused_features(part.number).front());
    if (h.empty()) return first + " + f";
    const bool by_head = plan.config.projection == Projection::fused_by_head;
    const std::size_t block = by_head ? 2 * plan.head_dim + plan.value_dim : part.width(plan);
    return first + " + " + h + " * " + std::to_string(block) + " + f";
}

std::string split_index(const Projected& part, const Plan& plan, const std::string& h) {
    return h.empty() ? "f" : h + " * " + std::to_string(part.width(plan)) + " + f";
}

std::string product_formula(const Plan& plan, const std::string& source, const std::string& weight,
                            const std::string& bias) {
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    return source + " @ " + weight + (out_in ? "^T" : "") + (bias.empty() ? "" : " + " + bias);
}

std::string projection_formula(const Plan& plan, const Projected& part) {
    const std::string bias = plan.one_weight() ? "its part of b_qkv" : "b_" + part.name;
    return product_formula(plan, part.source(plan),
                           plan.one_weight() ? part.name + " rows of w_qkv" : "w_" + part.name,
                           plan.config.bias ? bias : "");
}

StepTable projection_cards() { return {qkv_card()}; }

std::string learned(const PlannedStep& of) {
    const DrawList list = draw_list(of.plan);
    const DrawnTensor* row = find_drawn(list, of.step.name);
    const bool given = of.plan.config.parameters.has(of.step.name);
    return std::string("a parameter: learned in training, ") +
           (given                                      ? "given"
            : row && row->how == Initialisation::ones  ? "1"
            : row && row->how == Initialisation::zeros ? "0"
                                                       : "drawn") +
           " here";
}

std::function<Outline(const Plan&)> drawn_outline(const std::string& name) {
    return [name](const Plan& plan) {
        const DrawList list = draw_list(plan);
        const DrawnTensor& row = *find_drawn(list, name);
        return Outline{row.axes(), row.shape()};
    };
}

Step drawn_card(std::string name, std::string title, std::function<bool(const Plan&)> applies) {
    return {
        .name = name,
        .title = std::move(title),
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies = std::move(applies),
        .outline = drawn_outline(name),
        .formula = learned,
    };
}

}  // namespace attn
