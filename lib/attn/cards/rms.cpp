#include "attn/cards/cards.hpp"

#include "attn/cards/products.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/steps/norm.hpp"
#include "attn/text/json.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

const Tensor& before_rms(const RmsStep& rms, const Ledger& ledger) {
    return rms.before.chain == Chain::none ? ledger[rms.before.step]
                                           : ledger.latest(rms.before.chain, rms.name);
}

std::string name_before(const RmsStep& rms, const PlannedStep& of) {
    return rms.before.chain == Chain::none ? rms.before.step : of.latest(rms.before.chain);
}

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
    const Tensor& before = before_rms(rms, subject.ledger);
    if (before.shape() != subject.tensor.shape() || before.size() == 0) return note;
    say(note, of_first_matrix(subject, "the row of " + row_label(subject, 0) + " is divided by " +
                                           number(root_of_row(rms, subject.plan, before, 0)) +
                                           "; then each feature is multiplied by its gain."));
    return note;
}

}  // namespace

Step rms_gain_card(const RmsStep& rms) {
    return {
        .name = rms.gain,
        .title = "the gain of " + rms.name,
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies = rms.applies,
        .outline = drawn_outline(rms.gain),
        .formula = learned,
        .note = [](const Subject&) -> std::string {
            return "Multiplies each feature of the normed rows; training starts it at 1.";
        },
    };
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
                const std::string before = name_before(rms, of) + "[t,";
                return rms.name + "[t,f] = " + before + "f] / sqrt((mean g: " + before +
                       "g] ^ 2) + " + json_number(rms.eps) + ") * " + rms.gain + "[f]";
            },
        .compute = [rms](const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& before = before_rms(rms, ledger);
            const Tensor& gain = ledger[rms.gain];
            return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                using T = decltype(zero);
                const auto step = twin(plan, loop::norm<T>, vectorized::norm<T>);
                return {before.axes(),
                        step(before.as<T>(), gain.as<T>(), Array<T>(), NormKind::rms, rms.eps)};
            });
        },
        .note = [rms](const Subject& subject) { return rms_note(rms, subject); },
        .code =
            [rms](const StepLines& of) {
                const std::string before = name_before(rms, of);
                const std::string axis = of.torch() ? "-1, keepdim=True" : "-1, keepdims=True";
                return rms.name + " = " + before + " / " + of.module() + ".sqrt((" + before +
                       " * " + before + ").mean(" + axis + ") + " + json_number(rms.eps) + ") * " +
                       rms.gain;
            },
    };
}

}  // namespace attn
