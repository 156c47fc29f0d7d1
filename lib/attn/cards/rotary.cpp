#include "attn/steps/rotate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "attn/cards/cards.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

using namespace notes;

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

/// The first token that rotates, its first pair before and after.
std::string rotated_pair(const Rotated& rotated, const Subject& subject) {
    const Plan& plan = subject.plan;
    const Ledger::Entry* before = subject.ledger.find_latest(rotated.chain, subject.step.name);
    if (before == nullptr || before->tensor.shape() != subject.tensor.shape()) return {};
    if (!subject.excerpt.has_all_in_order("feature")) return {};
    const std::vector<std::int64_t>& positions = rotated.standing(plan).positions(plan);
    const std::string& rows = subject.tensor.axes()[subject.tensor.dimension() - 2];
    const std::size_t tokens = Matrices(subject.tensor).rows;
    const auto position = [&](std::size_t token) {
        return positions[subject.excerpt.index(rows, token)];
    };
    std::size_t token = 0;
    while (token < tokens && position(token) == 0) ++token;
    if (token == tokens) {
        return tokens > 1 ? "All tokens stand at position 0, where nothing rotates."
                          : "The token stands at position 0, where nothing rotates.";
    }
    auto [a, b] = feature_pair(*plan.config.rotary.pairing, 0, 2 * plan.rotary_pairs());
    const std::size_t width = subject.tensor.shape().back();
    a += plan.first_rotated(width);
    b += plan.first_rotated(width);
    const std::size_t row = token * width;
    const auto pair = [&, a = a, b = b](const Tensor& tensor) {
        const Cells cells(tensor);
        return "(" + number(cells[row + a]) + ", " + number(cells[row + b]) + ")";
    };
    const std::string who =
        rotated.is_key ? column_label(subject, token) : row_label(subject, token);
    return in_matrix(subject) + "features " + std::to_string(a) + " and " + std::to_string(b) +
           " of " + who + ", at position " + std::to_string(position(token)) + ", rotate from " +
           pair(before->tensor) + " to " + pair(subject.tensor) + ".";
}

std::string rotated_note(const Rotated& rotated, const Subject& subject) {
    const double factor = subject.plan.rotary_factor();
    std::string note =
        "Each pair of features rotates by its angle and " +
        (factor == 1 ? "keeps its length." : "becomes " + brief(factor) + " times as long.");
    say(note, capitalised(rotated_pair(rotated, subject)));
    if (rotated.is_key) {
        say(note, "A score now depends on how far apart query and key stand, not on where.");
    }
    return note;
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
    return {
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
        .compute = in_type([rotated]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& before = ledger.latest(rotated.chain, rotated.step());
            const Standing standing = rotated.standing(plan);
            return {before.axes(),
                    rotate(before.as<T>(), ledger[standing.name("cos")].as<T>(),
                           ledger[standing.name("sin")].as<T>(), *plan.config.rotary.pairing,
                           plan.first_rotated(before.shape().back()))};
        }),
        .note = [rotated](const Subject& subject) { return rotated_note(rotated, subject); },
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
    };
}

}  // namespace

StepTable rotary_cards() {
    return {rotated_card({"query", Chain::queries, false}),
            rotated_card({"key", Chain::keys, true})};
}

}  // namespace attn
