#include "attn/steps/norm.hpp"
#include "attn/cards/cards.hpp"

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

std::optional<std::string> norm_word(std::string_view word, const StepLines& of) {
    const Plan& plan = of.plan;
    if (word == "eps") return json_number(plan.config.x_norm_eps);
    const bool has_bias = plan.config.parameters.has("b_x");
    if (word == "bias") return has_bias ? "b_x" : "None";
    if (word == "gained") return has_bias ? " * g_x[c] + b_x[c]" : " * g_x[c]";
    return std::nullopt;
}

}  // namespace

StepTable norm_cards() {
    return {
        drawn_card(
            "g_x", "the gain of the norm of x",
            [](const Plan& plan) { return plan.config.x_norm.has_value(); },
            says("Each feature of the norm is multiplied by its own.")),
        drawn_card(
            "b_x", "the bias of the norm of x",
            [](const Plan& plan) {
                return plan.config.x_norm && plan.config.parameters.has("b_x");
            },
            says("Added to each feature of the norm.")),
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
            .rule = texts(
                {{is_rms, "normed_x[t,c] = x[t,c] / sqrt((mean i: x[t,i] ^ 2) + {eps}){gained}"},
                 {"normed_x[t,c] = (x[t,c] - (mean i: x[t,i])) / "
                  "sqrt((mean j: (x[t,j] - (mean i: x[t,i])) ^ 2) + {eps}){gained}"}},
                norm_word),
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const Tensor* bias = ledger.find("b_x");
                const auto step = twin(plan, loop::norm<T>, vectorized::norm<T>);
                return {ledger["x"].axes(), step(ledger["x"].as<T>(), ledger["g_x"].as<T>(),
                                                 bias ? bias->as<T>() : Array<T>(),
                                                 *plan.config.x_norm, plan.config.x_norm_eps)};
            }),
            .note = norm_note,
            .code = field_lines(
                {{is_rms, nullptr, nullptr},
                 {"normed_x = F.layer_norm(x, g_x.shape, g_x, {bias}, {eps})", nullptr}},
                norm_word),
        },
    };
}

namespace {

using namespace notes;

/// The root that divides row `row`.
double root_of_row(const RmsStep& rms, const Plan& plan, const Tensor& before, std::size_t row) {
    return with_floating(plan.compute_dtype, [&](auto zero) {
        const std::size_t features = before.shape().back();
        const auto* first = before.as<decltype(zero)>().data() + row * features;
        return row_size(first, features, NormKind::rms, rms.eps).root;
    });
}

std::string rms_note(const RmsStep& rms, const Subject& subject) {
    std::string note = rms.why_here;
    const Tensor& before = tensor_of(rms.before, subject.ledger, rms.name);
    if (before.shape() != subject.tensor.shape() || before.size() == 0) return note;
    say(note, of_first_matrix(subject, "the row of " + row_label(subject, 0) + " is divided by " +
                                           number(root_of_row(rms, subject.plan, before, 0)) +
                                           "; then each feature is multiplied by its gain."));
    return note;
}

}  // namespace

Step rms_gain_card(const RmsStep& rms) {
    return drawn_card(rms.gain, "the gain of " + rms.name, rms.applies, says(of_a_gain));
}

Step rms_card(const RmsStep& rms) {
    return {
        .name = rms.name,
        .title = rms.title,
        .tokens = rms.tokens,
        .chain = rms.chain,
        .applies = rms.applies,
        .reads = these({rms.before, rms.gain}),
        .outline = rms.outline,
        .rule =
            [rms](const PlannedStep& of) {
                const std::string before = of.name_of(rms.before) + "[t,";
                return rms.name + "[t,f] = " + before + "f] / sqrt((mean g: " + before +
                       "g] ^ 2) + " + json_number(rms.eps) + ") * " + rms.gain + "[f]";
            },
        .compute = [rms](const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& before = tensor_of(rms.before, ledger, rms.name);
            const Tensor& gain = ledger[rms.gain];
            return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
                const auto step = twin(plan, loop::norm<T>, vectorized::norm<T>);
                return {before.axes(),
                        step(before.as<T>(), gain.as<T>(), Array<T>(), NormKind::rms, rms.eps)};
            });
        },
        .note = [rms](const Subject& subject) { return rms_note(rms, subject); },
    };
}

}  // namespace attn
