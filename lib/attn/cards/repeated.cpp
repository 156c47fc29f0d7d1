#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/steps/heads.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

// repeated_key and repeated_value: of grouped-query attention, once for each head of queries.

/// `heads 0 to 1 hold the same numbers here`; of some heads, which one the first of them is.
std::string same_numbers_text(const Subject& subject, const Projected& part) {
    const std::size_t times = subject.plan.queries_per_key();
    if (subject.excerpt.has_all("head")) {
        return "heads 0 to " + std::to_string(times - 1) + " hold the same numbers here";
    }
    const std::size_t head = subject.excerpt.index("head", 0);
    return "head " + std::to_string(head) + " here is " + part.name + " head " +
           std::to_string(head / times);
}

std::string repeated_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    const std::string times = std::to_string(plan.queries_per_key());
    std::string note = counted(plan.kv_heads, part.name + " head") + " for " +
                       counted(plan.heads, "query head") + ": each is read by " + times + ", so " +
                       same_numbers_text(subject, part) + ". Nothing is computed.";
    // What a cache keeps of a latent is told where that is made.
    if (part.letter() == 'v' || subject.has("latent")) return note;
    say(note, "Keys and values of " + counted(plan.kv_heads, "head") + " instead of " +
                  std::to_string(plan.heads) + " make a cache of them " + times +
                  " times smaller.");
    return note;
}

Step repeated_card(const Projected& part, Chain chain) {
    const std::string name = "repeated_" + part.name;
    return {
        .name = name,
        .title = "the " + part.name + " that each query head reads",
        .chain = chain,
        .applies = [](const Plan& plan) { return plan.shares_keys() && !plan.fused(); },
        .reads = these({chain}),
        .outline =
            [part](const Plan& plan) {
                return Outline{
                    plan.per_head_axes(part.position, "feature"),
                    plan.per_head_shape(plan.key_len, part.width(plan),
                                        part.number == 2 ? plan.context_heads() : plan.heads)};
            },
        .rule =
            [name, chain](const PlannedStep& of) {
                return name + "[h,t,f] = " + of.latest(chain) + "[h / group, t, f]";
            },
        .compute =
            [name, chain](const Plan& plan, const Ledger& ledger) {
                return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                    using T = decltype(zero);
                    const Tensor& shared = ledger.latest(chain, name);
                    const auto step =
                        twin(plan, loop::repeat_heads<T>, vectorized::repeat_heads<T>);
                    return {shared.axes(), step(shared.as<T>(), plan.queries_per_key())};
                });
            },
        .note = [part](const Subject& subject) { return repeated_note(subject, part); },
        .code =
            [name, chain](const StepLines& of) {
                const std::string times = std::to_string(of.plan.queries_per_key());
                const std::string& shared = of.latest(chain);
                return name + " = " +
                       (of.torch() ? shared + ".repeat_interleave(" + times + ", dim=-3)"
                                   : "np.repeat(" + shared + ", " + times + ", axis=-3)");
            },
    };
}

}  // namespace

StepTable repeated_cards() {
    return {repeated_card(projected_of('k'), Chain::keys),
            repeated_card(projected_of('v'), Chain::values)};
}

}  // namespace attn
