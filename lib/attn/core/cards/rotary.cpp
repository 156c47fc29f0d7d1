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

/// The features that rotate, one after the other: `4:8:2`.
std::optional<std::string> rotated_word(std::string_view word, const StepLines& of) {
    const bool is_key = of.step.chain == Chain::keys;
    const std::size_t all = projected_of(is_key ? 'k' : 'q').width(of.plan);
    const std::size_t first = of.plan.first_rotated(all);
    const std::size_t end = first + 2 * of.plan.rotary_pairs();
    const Standing standing{is_key && of.plan.has_memory};
    if (word == "cos" || word == "sin") return standing.name(std::string(word));
    if (word == "width") return std::to_string(end - first);
    if (word == "firsts") return fmt::format("{}:{}:2", first, end);
    if (word == "seconds") return fmt::format("{}:{}:2", first + 1, end);
    if (word == "still") return first > 0 ? fmt::format("{}[..., :{}], ", of.before(), first) : "";
    if (word == "rest") return end < all ? fmt::format(", {}[..., {}:]", of.before(), end) : "";
    return std::nullopt;
}

bool has_pairs_of_neighbours(const Plan& plan) {
    return plan.config.rotary.pairing == Pairing::interleaved;
}
bool rotates_some(const Plan& plan) {
    return has_pairs_of_neighbours(plan) && 2 * plan.rotary_pairs() < plan.head_dim;
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
            .code = field_lines(
                {{rotates_some,
                  "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
                  "rotated = torch.stack((first * {cos} - second * {sin}, second * {cos} + first * "
                  "{sin}), dim=-1).flatten(-2)\n"
                  "{step} = torch.cat(({still}rotated{rest}), dim=-1)",
                  "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
                  "rotated = np.stack((first * {cos} - second * {sin}, second * {cos} + first * "
                  "{sin}), axis=-1).reshape({before}.shape[:-1] + ({width},))\n"
                  "{step} = np.concatenate(({still}rotated{rest}), axis=-1)"},
                 {has_pairs_of_neighbours,
                  "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
                  "{step} = torch.stack((first * {cos} - second * {sin}, second * {cos} + first * "
                  "{sin}), dim=-1).flatten(-2)",
                  "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
                  "{step} = np.stack((first * {cos} - second * {sin}, second * {cos} + first * "
                  "{sin}), axis=-1).reshape({before}.shape)"}},
                rotated_word),
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
