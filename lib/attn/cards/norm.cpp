#include "attn/steps/norm.hpp"

#include "attn/cards/cards.hpp"
#include "attn/cards/products.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/json.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

bool is_rms(const Plan& plan) { return *plan.config.x_norm == NormKind::rms; }

/// The mean and the size of row `row` of x.
RowSize size_of_row(const Plan& plan, const Tensor& x, std::size_t row) {
    return with_floating(plan.compute_dtype, [&](auto zero) {
        const std::size_t features = x.shape().back();
        return row_size(x.as<decltype(zero)>().data() + row * features, features,
                        *plan.config.x_norm, plan.config.x_norm_eps);
    });
}

std::string norm_rule(const PlannedStep& of) {
    const std::string eps = json_number(of.plan.config.x_norm_eps);
    const std::string gained =
        " * g_x[c]" + std::string(of.plan.config.parameters.has("b_x") ? " + b_x[c]" : "");
    if (is_rms(of.plan)) {
        return "normed_x[t,c] = x[t,c] / sqrt((mean i: x[t,i] ^ 2) + " + eps + ")" + gained;
    }
    const std::string mean = "(mean i: x[t,i])";
    return "normed_x[t,c] = (x[t,c] - " + mean + ") / sqrt((mean j: (x[t,j] - " + mean +
           ") ^ 2) + " + eps + ")" + gained;
}

std::string norm_note(const Subject& subject) {
    const Tensor* x = subject.ledger.find("x");  // with all features, which its size is made of
    std::string note = "Every token gets rows of the same size, whatever has been added to x.";
    if (x == nullptr || x->shape() != subject.tensor.shape()) return note;
    const RowSize size = size_of_row(subject.plan, *x, 0);
    say(note,
        of_first_matrix(
            subject,
            "the row of " + row_label(subject, 0) + " is divided by " + number(size.root) +
                (is_rms(subject.plan) ? ""
                                      : ", after its mean " + number(size.mean) + " is taken off") +
                "; then each feature is multiplied by its gain."));
    return note;
}

std::string norm_code(const StepLines& of) {
    const Plan& plan = of.plan;
    const std::string eps = json_number(plan.config.x_norm_eps);
    const bool bias = plan.config.parameters.has("b_x");
    if (of.torch() && !is_rms(plan)) {
        return "normed_x = F.layer_norm(x, g_x.shape, g_x" +
               std::string(bias ? ", b_x" : ", None") + ", " + eps + ")";
    }
    const std::string axis = of.torch() ? "-1, keepdim=True" : "-1, keepdims=True";
    const std::string root = of.torch() ? "torch.sqrt(" : "np.sqrt(";
    const std::string after = std::string(" * g_x") + (bias ? " + b_x" : "");
    if (is_rms(plan)) {
        return "normed_x = x / " + root + "(x * x).mean(" + axis + ") + " + eps + ")" + after;
    }
    return "normed_x = (x - x.mean(" + axis + ")) / " + root + "x.var(" + axis + ") + " + eps +
           ")" + after;
}

Step parameter_of_norm(const std::string& name, const std::string& title) {
    return {
        .name = name,
        .title = title,
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies =
            [name](const Plan& plan) {
                return plan.config.x_norm && (name == "g_x" || plan.config.parameters.has(name));
            },
        .outline = drawn_outline(name),
        .formula = learned,
        .note =
            [name](const Subject&) {
                return std::string(name == "g_x"
                                       ? "Each feature of the norm is multiplied by its own."
                                       : "Added to each feature of the norm.");
            },
    };
}

}  // namespace

StepTable norm_cards() {
    return {
        parameter_of_norm("g_x", "the gain of the norm of x"),
        parameter_of_norm("b_x", "the bias of the norm of x"),
        {
            .name = "normed_x",
            .title = "x with rows of one size, which query, key and value are made of",
            .applies = [](const Plan& plan) { return plan.has_x() && plan.config.x_norm; },
            .reads =
                [](const Plan& plan) {
                    std::vector<Input> inputs{"x", "g_x"};
                    if (plan.config.parameters.has("b_x")) inputs.push_back("b_x");
                    return inputs;
                },
            .outline = [](const Plan& plan) { return token_outline(plan, plan.embed_dim); },
            .rule = norm_rule,
            .compute = [](const Plan& plan, const Ledger& ledger) -> Tensor {
                return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                    using T = decltype(zero);
                    const Tensor* bias = ledger.find("b_x");
                    const auto step = twin(plan, loop::norm<T>, vectorized::norm<T>);
                    return {ledger["x"].axes(), step(ledger["x"].as<T>(), ledger["g_x"].as<T>(),
                                                     bias ? bias->as<T>() : Array<T>(),
                                                     *plan.config.x_norm, plan.config.x_norm_eps)};
                });
            },
            .note = norm_note,
            .code = norm_code,
        },
    };
}

}  // namespace attn
