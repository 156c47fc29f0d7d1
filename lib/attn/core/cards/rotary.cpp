#include "attn/core/steps/rotate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "attn/core/cards/cards.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

/// Query or key: what rotates.
struct Rotated {
    std::string name;
    Chain chain;
    bool is_key;

    std::string step() const { return "rotated_" + name; }
    Standing standing(const Plan& plan) const { return {is_key && plan.has_memory}; }
};

const Projected& part_of(const Rotated& rotated) { return projected_of(rotated.name.front()); }

std::string rotated_rule(const Rotated& rotated, const PlannedStep& of) {
    const std::size_t pairs = of.plan.rotary_pairs();
    const std::size_t all = part_of(rotated).width(of.plan);
    const std::size_t first = of.plan.first_rotated(all);
    const bool half = of.plan.config.rotary.pairing == Pairing::half;
    const std::string away = std::to_string(half ? pairs : 1);
    const std::string feature = first == 0 ? "f" : "(f - " + std::to_string(first) + ")";
    const std::string count = std::to_string(pairs);
    const std::string pair = half ? feature + " % " + count : feature + " / 2";
    const std::string before = word(rotated.chain);
    const Standing standing = rotated.standing(of.plan);
    const auto turned = [&](const char* sign, const char* other) {
        return before + "[t,f] * " + standing.name("cos") + "[t, " + pair + "]" + sign + before +
               "[t, f" + other + away + "] * " + standing.name("sin") + "[t, " + pair + "]";
    };
    std::string still;
    if (first > 0) still = "f < " + std::to_string(first);
    if (first + 2 * pairs < all) {
        still += (still.empty() ? "" : " or ") + ("f >= " + std::to_string(first + 2 * pairs));
    }
    return rotated.step() +
           "[t,f] = " + (still.empty() ? "" : "if " + still + " then " + before + "[t,f] else ") +
           "if " + (half ? feature + " < " + count : feature + " % 2 == 0") + " then " +
           turned(" - ", " + ") + " else " + turned(" + ", " - ");
}

Step rotated_card(const Rotated& rotated) {
    return with_loop(
        {
            .name = rotated.step(),
            .title = "the " + rotated.name + ", rotated by the positions of its tokens",
            .chain = rotated.chain,
            .applies = [](const Plan& plan) { return plan.rotates(); },
            .reads =
                [rotated](const Plan& plan) {
                    const Standing standing = rotated.standing(plan);
                    return std::vector<Input>{rotated.chain, standing.name("cos"),
                                              standing.name("sin")};
                },
            .outline =
                [rotated](const Plan& plan) {
                    const Projected& part = part_of(rotated);
                    return Outline{
                        plan.per_head_axes(part.axis(plan), "feature"),
                        plan.per_head_shape(part.length(plan), part.width(plan), part.heads(plan))};
                },
            .rule = [rotated](const PlannedStep& of) { return rotated_rule(rotated, of); },
        },
        []<class T>(const LoopInputs<T>& in) {
            return in.like_first(rotate(in[0], in[1], in[2], *in.plan.config.rotary.pairing,
                                        in.plan.first_rotated(in.tensor(0).shape().back())));
        });
}

}  // namespace

StepTable rotary_cards() {
    return {rotated_card({"query", Chain::queries, false}),
            rotated_card({"key", Chain::keys, true})};
}

}  // namespace attn
