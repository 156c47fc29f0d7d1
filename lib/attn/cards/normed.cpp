#include <algorithm>
#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/steps/qk_norm.hpp"

namespace attn {
namespace {

using namespace notes;

/// Query or key, and the gain of its norm.
struct NormedPart {
    Projected part;
    Chain chain;

    std::string step() const { return "normed_" + part.name; }
    std::string gain() const { return "g_" + part.name; }
};

const QkNorm& norm_of(const Plan& plan) { return plan.config.qk_norm; }

Tensor compute_normed(const NormedPart& normed, const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Tensor& before = ledger.latest(normed.chain, normed.step());
        const Tensor* gain = ledger.find(normed.gain());
        const auto step = twin(plan, loop::normalise<T>, vectorized::normalise<T>);
        return {before.axes(),
                step(before.as<T>(), gain ? gain->as<T>() : Array<T>(), *norm_of(plan).over,
                     norm_of(plan).eps, plan.has_head ? normed.part.heads(plan) : 1)};
    });
}

std::string normed_rule(const NormedPart& normed, const PlannedStep& of) {
    const std::string before = of.latest(normed.chain);
    const std::string eps = json_number(norm_of(of.plan).eps);
    if (norm_of(of.plan).over == NormOver::l2) {
        return normed.step() + "[t,f] = " + before + "[t,f] / max(sqrt(sum g: " + before +
               "[t,g] ^ 2), " + eps + ")";
    }
    const std::string over = " ^ 2) + " + eps + ") * " + normed.gain();
    if (norm_of(of.plan).over == NormOver::all && of.plan.has_head) {
        return normed.step() + "[h,t,f] = " + before + "[h,t,f] / sqrt((mean i: mean g: " + before +
               "[i,t,g]" + over + "[h * D + f]";
    }
    return normed.step() + "[t,f] = " + before + "[t,f] / sqrt((mean g: " + before + "[t,g]" +
           over + "[f]";
}

/// The longest row before and after.
std::string longest_row_sentence(const NormedPart& normed, const Subject& subject) {
    const Ledger::Entry* before = subject.ledger.find_latest(normed.chain, subject.step.name);
    if (before == nullptr || before->tensor.shape() != subject.tensor.shape()) return {};
    const std::optional<MatrixCell> longest = longest_row(before->tensor, 0);
    if (!longest || !subject.excerpt.has_all("feature") || !Matrices(subject.tensor).readable())
        return {};
    const std::size_t width = subject.tensor.shape().back();
    const Cells cells(subject.tensor);
    double squares = 0;
    for (std::size_t f = 0; f < width; ++f) {
        squares += cells[longest->row * width + f] * cells[longest->row * width + f];
    }
    const bool is_key = normed.chain == Chain::keys;
    return in_matrix(subject) + "the row of " +
           (is_key ? column_label(subject, longest->row) : row_label(subject, longest->row)) +
           " had length " + number(longest->value) + " and has " + number(std::sqrt(squares)) + ".";
}

std::string normed_note(const NormedPart& normed, const Subject& subject) {
    const std::optional<NormOver> over = norm_of(subject.plan).over;
    std::string note = over == NormOver::l2 ? "Each row is divided by its length."
                                            : "Each row is divided by its root mean square "
                                              "(RMSNorm), then multiplied by the gain.";
    say(note, capitalised(longest_row_sentence(normed, subject)));
    return note;
}

std::optional<std::string> normed_word(std::string_view word, const StepLines& of) {
    return word == "eps" ? std::optional(json_number(norm_of(of.plan).eps)) : std::nullopt;
}

bool is_l2(const Plan& plan) { return norm_of(plan).over == NormOver::l2; }

Step gain_card(const NormedPart& normed) {
    return drawn_card(normed.gain(), "the gain of the norm of the " + normed.part.name,
                      &Plan::has_gains, says(of_a_gain));
}

Step normed_card(const NormedPart& normed) {
    return {
        .name = normed.step(),
        .title = "the " + normed.part.name + ", every row brought to one length",
        .chain = normed.chain,
        .applies = [](const Plan& plan) { return plan.norms(); },
        .reads =
            [normed](const Plan& plan) {
                std::vector<Input> inputs{normed.chain};
                if (plan.has_gains()) inputs.push_back(normed.gain());
                return inputs;
            },
        .outline =
            [normed](const Plan& plan) {
                return Outline{plan.per_head_axes(normed.part.axis(plan), "feature"),
                               plan.per_head_shape(normed.part.length(plan), plan.head_dim,
                                                   normed.part.heads(plan))};
            },
        .rule = [normed](const PlannedStep& of) { return normed_rule(normed, of); },
        .compute = [normed](const Plan& plan,
                            const Ledger& ledger) { return compute_normed(normed, plan, ledger); },
        .note = [normed](const Subject& subject) { return normed_note(normed, subject); },
        .code = field_lines({{is_l2, "{step} = F.normalize({before}, dim=-1, eps={eps})", nullptr}},
                            normed_word),
    };
}

}  // namespace

StepTable normed_cards() {
    const NormedPart query{projected_of('q'), Chain::queries};
    const NormedPart key{projected_of('k'), Chain::keys};
    return {gain_card(query), gain_card(key), normed_card(query), normed_card(key)};
}

}  // namespace attn
