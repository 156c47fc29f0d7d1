#include "attn/steps/rotary.hpp"

#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/cards/standing.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/numbers.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

/// Query or key: what turns.
struct Turned {
    std::string name;
    Chain chain;
    bool is_key;

    std::string step() const { return "rotated_" + name; }
    Standing standing(const Plan& plan) const { return {is_key && plan.has_memory}; }
};

const Projected& part_of(const Turned& turned) { return projected_of(turned.name.front()); }

std::string turned_formula(const Turned& turned, const PlannedStep& of) {
    const bool half = of.plan.config.rotary.pairing == Pairing::half;
    const std::string pairs = std::to_string(of.plan.rotary_pairs());
    const std::size_t skipped = of.plan.first_turned(part_of(turned).width(of.plan));
    const auto feature = [&](const std::string& place, std::size_t more) {
        return "(t, " + place + (more > 0 ? "+" + std::to_string(more) : "") + ")";
    };
    const std::string first = feature(half ? "i" : "2i", skipped);
    const std::string second =
        feature(half ? "i" : "2i", skipped + (half ? of.plan.rotary_pairs() : 1));
    const std::string before = of.latest(turned.chain);
    const Standing standing = turned.standing(of.plan);
    const std::string cos = standing.name("cos") + "(t, i)";
    const std::string sin = standing.name("sin") + "(t, i)";
    return turned.step() + first + " = " + before + first + " * " + cos + " - " + before + second +
           " * " + sin + ", " + turned.step() + second + " = " + before + second + " * " + cos +
           " + " + before + first + " * " + sin + ", i < " + pairs;
}

/// The first token that turns, its first pair before and after.
std::string turned_pair(const Turned& turned, const Subject& subject) {
    const Plan& plan = subject.plan;
    const Ledger::Entry* before = subject.ledger.find_latest(turned.chain, subject.step.name);
    if (before == nullptr || before->tensor.shape() != subject.tensor.shape()) return {};
    if (!subject.excerpt.has_all_in_order("feature")) return {};
    const std::vector<std::int64_t>& positions = turned.standing(plan).positions(plan);
    const std::string& rows = subject.tensor.axes()[subject.tensor.dimension() - 2];
    const std::size_t tokens = Matrices(subject.tensor).rows;
    const auto position = [&](std::size_t token) {
        return positions[subject.excerpt.index(rows, token)];
    };
    std::size_t token = 0;
    while (token < tokens && position(token) == 0) ++token;
    if (token == tokens) {
        return tokens > 1 ? "All tokens stand at position 0, where nothing turns."
                          : "The token stands at position 0, where nothing turns.";
    }
    auto [a, b] = feature_pair(*plan.config.rotary.pairing, 0, 2 * plan.rotary_pairs());
    const std::size_t width = subject.tensor.shape().back();
    a += plan.first_turned(width);
    b += plan.first_turned(width);
    const std::size_t row = token * width;
    const auto pair = [&, a = a, b = b](const Tensor& tensor) {
        const Cells cells(tensor);
        return "(" + number(cells[row + a]) + ", " + number(cells[row + b]) + ")";
    };
    const std::string who =
        turned.is_key ? column_label(subject, token) : row_label(subject, token);
    return in_matrix(subject) + "features " + std::to_string(a) + " and " + std::to_string(b) +
           " of " + who + ", at position " + std::to_string(position(token)) + ", turn from " +
           pair(before->tensor) + " to " + pair(subject.tensor) + ".";
}

std::string turned_note(const Turned& turned, const Subject& subject) {
    const double factor = subject.plan.rotary_factor();
    std::string note =
        "Each pair of features turns by its angle and " +
        (factor == 1 ? "keeps its length." : "becomes " + brief(factor) + " times as long.");
    say(note, capitalised(turned_pair(turned, subject)));
    if (turned.is_key) {
        say(note, "A score now depends on how far apart query and key stand, not on where.");
    }
    return note;
}

void why_turned(const Turned& turned, const WalkView& view, Derivation& derivation) {
    const std::size_t pairs = view.plan.rotary_pairs();
    const std::size_t skipped = view.plan.first_turned(part_of(turned).width(view.plan));
    const Cell itself = view.latest(turned.chain);
    if (view.place.at("feature") < skipped) {
        derivation.copy(itself, "a feature in front of the rotary ones does not turn");
        return;
    }
    const std::size_t feature = view.place.at("feature") - skipped;
    if (feature >= 2 * pairs) {
        derivation.copy(itself, "a feature from rotary_dim on does not turn");
        return;
    }
    const bool half = view.plan.config.rotary.pairing == Pairing::half;
    const std::size_t pair = half ? feature % pairs : feature / 2;
    const auto [first, second] = feature_pair(*view.plan.config.rotary.pairing, pair, 2 * pairs);
    const bool is_first = feature == first;
    const Cell other = view.latest(
        turned.chain, with(view.place, "feature", skipped + (is_first ? second : first)));
    const Standing standing = turned.standing(view.plan);
    const Place angle = with(at_position(view.place, "token"), "pair", pair);
    const Cell cos = view.at(standing.name("cos"), angle);
    const Cell sin = view.at(standing.name("sin"), angle);
    const std::string sign = is_first ? " - " : " + ";
    derivation.rule = cell_text(itself) + " * " + cell_text(cos) + sign + cell_text(other) + " * " +
                      cell_text(sin);
    derivation.arithmetic = four_decimals(itself.value) + " * " + four_decimals(cos.value) + sign +
                            four_decimals(other.value) + " * " + four_decimals(sin.value);
    derivation.sources = {itself, cos, other, sin};
}

std::string turned_code(const Turned& turned, const StepLines& of) {
    const bool half = of.plan.config.rotary.pairing == Pairing::half;
    const std::size_t pairs = of.plan.rotary_pairs();
    const std::size_t all = part_of(turned).width(of.plan);
    const std::size_t skipped = of.plan.first_turned(all);
    const std::string start = skipped > 0 ? std::to_string(skipped) : "";
    const std::string width = std::to_string(2 * pairs);
    const std::string end = std::to_string(skipped + 2 * pairs);
    const std::string middle = std::to_string(skipped + pairs);
    const std::string before = of.latest(turned.chain);
    const Standing standing = turned.standing(of.plan);
    const std::string cos = standing.name("cos");
    const std::string sin = standing.name("sin");
    const std::string axis = of.torch() ? "dim=-1)" : "axis=-1)";
    const std::string cat = of.torch() ? "torch.cat((" : "np.concatenate((";
    const std::string features = before + "[..., ";
    const std::string firsts =
        half ? start + ":" + middle + "]" : std::to_string(skipped) + ":" + end + ":2]";
    const std::string seconds =
        half ? middle + ":" + end + "]" : std::to_string(skipped + 1) + ":" + end + ":2]";
    const std::string still = skipped > 0 ? features + ":" + start + "], " : std::string();
    const std::string rest =
        skipped + 2 * pairs < all ? ", " + features + end + ":]" : std::string();
    const std::string both =
        "first * " + cos + " - second * " + sin + ", second * " + cos + " + first * " + sin;
    std::string lines = "first, second = " + features + firsts + ", " + features + seconds + "\n";
    if (half) return lines + turned.step() + " = " + cat + still + both + rest + "), " + axis;
    const std::string stacked =
        of.module() + ".stack((" + both + "), " + axis +
        (of.torch() ? ".flatten(-2)" : ".reshape(" + before + ".shape[:-1] + (" + width + ",))");
    if (rest.empty() && still.empty()) return lines + turned.step() + " = " + stacked;
    return lines + "turned = " + stacked + "\n" + turned.step() + " = " + cat + still + "turned" +
           rest + "), " + axis;
}

Step turned_card(const Turned& turned) {
    return {
        .name = turned.step(),
        .title = "the " + turned.name + ", turned by the positions of its tokens",
        .chain = turned.chain,
        .applies = [](const Plan& plan) { return plan.rotates(); },
        .reads =
            [turned](const Plan& plan) {
                const Standing standing = turned.standing(plan);
                return std::vector<Input>{turned.chain, standing.name("cos"), standing.name("sin")};
            },
        .outline =
            [turned](const Plan& plan) {
                const Projected& part = part_of(turned);
                return Outline{
                    plan.per_head_axes(part.axis(plan), "feature"),
                    plan.per_head_shape(part.length(plan), part.width(plan), part.heads(plan))};
            },
        .formula = [turned](const PlannedStep& of) { return turned_formula(turned, of); },
        .compute = [turned](const Plan& plan, const Ledger& ledger) -> Tensor {
            return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                using T = decltype(zero);
                const Tensor& before = ledger.latest(turned.chain, turned.step());
                const Standing standing = turned.standing(plan);
                const auto step = twin(plan, loop::rotate<T>, vectorized::rotate<T>);
                return {before.axes(),
                        step(before.as<T>(), ledger[standing.name("cos")].as<T>(),
                             ledger[standing.name("sin")].as<T>(), *plan.config.rotary.pairing,
                             plan.first_turned(before.shape().back()))};
            });
        },
        .note = [turned](const Subject& subject) { return turned_note(turned, subject); },
        .why = [turned](const WalkView& view,
                        Derivation& derivation) { why_turned(turned, view, derivation); },
        .code = [turned](const StepLines& of) { return turned_code(turned, of); },
    };
}

}  // namespace

StepTable rotary_cards() {
    return {turned_card({"query", Chain::queries, false}), turned_card({"key", Chain::keys, true})};
}

}  // namespace attn
