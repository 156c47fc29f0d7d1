#include "attn/steps/softcap.hpp"

#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/attention_rows.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

// capped_scores: pressed below a cap by tanh.

Tensor compute_capped(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores, "capped_scores");
        const double cap = plan.config.softcap;
        return {scores.axes(), is_loop(plan) ? loop::soft_cap(scores.as<T>(), cap)
                                             : vectorized::soft_cap(scores.as<T>(), cap)};
    });
}

std::string capped_note(const Subject& subject) {
    const double cap = subject.plan.config.softcap;
    std::string note = "No score goes beyond " + brief(cap) +
                       ": those near 0 hardly change, large ones come close to it.";
    const std::optional<LargestScore> largest = largest_score(subject);
    if (!largest) return note;
    if (!largest->became(cap * std::tanh(largest->before / cap))) note.clear();
    say(note, largest->sentence);
    return note;
}

std::string capped_code(const StepLines& of) {
    NumberBuffer buffer;
    const std::string cap(buffer.data(), write_scalar(buffer.data(), of.plan.config.softcap));
    return "capped_scores = " + cap + " * " + of.module() + ".tanh(" + of.latest(Chain::scores) +
           " / " + cap + ")";
}

}  // namespace

Step softcap_card() {
    return {
        .name = "capped_scores",
        .title = "the scores, softly bounded by the cap",
        .chain = Chain::scores,
        .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.caps(); },
        .reads = these({Chain::scores}),
        .outline = score_outline,
        .rule = always("capped_scores[q,k] = cap * tanh(scores[q,k] / cap)"),
        .compute = compute_capped,
        .note = capped_note,
        .code = capped_code,
    };
}

}  // namespace attn
