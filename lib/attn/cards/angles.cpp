#include <algorithm>
#include <numbers>

#include "attn/cards/cards.hpp"
#include "attn/cards/standing.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/explain/why.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/render/number_text.hpp"
#include "attn/steps/rotary.hpp"
#include "attn/text/numbers.hpp"

namespace attn {
namespace {

using namespace notes;

/// Whether they are 0, 1, 2, ...
bool counts_from_zero(const std::vector<std::int64_t>& positions) {
    for (std::size_t t = 0; t < positions.size(); ++t) {
        if (positions[t] != static_cast<std::int64_t>(t)) return false;
    }
    return true;
}

/// The base with all its digits: `10000`.
std::string theta_text(const Plan& plan) {
    NumberBuffer buffer;
    return {buffer.data(), write_shortest_fixed(buffer.data(), plan.config.rotary.theta)};
}

// positions: where the tokens stand.

std::string positions_code(const Standing& standing, const StepLines& of) {
    const std::vector<std::int64_t>& positions = standing.positions(of.plan);
    const std::string start = standing.name("positions") + " = " + of.module();
    if (counts_from_zero(positions)) {
        return start + ".arange(" + std::to_string(positions.size()) + ")";
    }
    std::string list;
    for (const std::int64_t position : positions) {
        list += (list.empty() ? "" : ", ") + std::to_string(position);
    }
    return start + (of.torch() ? ".tensor([" : ".array([") + list + "])";
}

Step positions_card(const Standing& standing) {
    return {
        .name = standing.name("positions"),
        .title = "where each token stands",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.applies(plan); },
        .outline =
            [standing](const Plan& plan) {
                return Outline{{"token"}, {standing.positions(plan).size()}};
            },
        .formula =
            [standing](const PlannedStep& of) {
                return standing.name("positions") +
                       (counts_from_zero(standing.positions(of.plan)) ? "(t) = t" : " as given");
            },
        .compute = [standing](const Plan& plan, const Ledger&) -> Tensor {
            const std::vector<std::int64_t>& positions = standing.positions(plan);
            Array<std::int64_t> numbers = empty_array<std::int64_t>({positions.size()});
            std::copy(positions.begin(), positions.end(), numbers.data());
            return {{"token"}, std::move(numbers)};
        },
        .note = [](const Subject&) -> std::string {
            return "With rotary positions only their differences matter to the scores.";
        },
        .why =
            [](const WalkView&, Derivation& derivation) {
                derivation.rule =
                    "the place of the token, counted or given: the walk starts from it";
            },
        .code = [standing](const StepLines& of) { return positions_code(standing, of); },
    };
}

// inverse_frequencies: how fast each pair turns.

Tensor compute_inverse_frequencies(const Plan& plan, const Ledger&) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step =
            twin(plan, loop::inverse_frequencies<T>, vectorized::inverse_frequencies<T>);
        return {{"pair"}, step(plan.config.rotary.theta, 2 * plan.rotary_pairs())};
    });
}

std::string inverse_frequencies_note(const Subject& subject) {
    const Cells cells(subject.tensor);
    const std::size_t last = subject.tensor.size() - 1;
    const auto turn = [&](std::size_t pair) {
        return brief(2 * std::numbers::pi / cells[pair]) + " positions";
    };
    std::string note = "Pair 0 makes a full turn in " + turn(0);
    if (last > 0) note += ", pair " + std::to_string(last) + " in " + turn(last);
    return note + ".";
}

void why_inverse_frequencies(const WalkView& view, Derivation& derivation) {
    const std::string base = theta_text(view.plan);
    const std::string width = std::to_string(2 * view.plan.rotary_pairs());
    derivation.rule = "theta^(-2i / rotary_dim)";
    derivation.arithmetic =
        "1 / " + base + "^(" + std::to_string(2 * view.place.at("pair")) + " / " + width + ")";
}

std::string inverse_frequencies_code(const StepLines& of) {
    const std::string width = std::to_string(2 * of.plan.rotary_pairs());
    return "inverse_frequencies = 1 / " + theta_text(of.plan) + " ** (" + of.module() +
           ".arange(0, " + width + ", 2, dtype=" + dtype_code(of.plan.compute_dtype, of.language) +
           ") / " + width + ")";
}

Step inverse_frequencies_card() {
    return {
        .name = "inverse_frequencies",
        .title = "how far each pair of features turns from one position to the next, in radians",
        .shown = false,
        .applies = [](const Plan& plan) { return plan.rotates(); },
        .outline =
            [](const Plan& plan) {
                return Outline{{"pair"}, {plan.rotary_pairs()}};
            },
        .formula =
            [](const PlannedStep& of) {
                return "inverse_frequencies(i) = theta^(-2i / rotary_dim) = " +
                       theta_text(of.plan) + "^(-2i / " +
                       std::to_string(2 * of.plan.rotary_pairs()) + ")";
            },
        .compute = compute_inverse_frequencies,
        .note = inverse_frequencies_note,
        .why = why_inverse_frequencies,
        .code = inverse_frequencies_code,
    };
}

// angles, cos and sin of each token and pair.

Outline pair_outline(const Standing& standing, const Plan& plan) {
    return {{"token", "pair"}, {standing.positions(plan).size(), plan.rotary_pairs()}};
}

Step angles_card(const Standing& standing) {
    const std::string name = standing.name("angles");
    const std::string positions = standing.name("positions");
    return {
        .name = name,
        .title = "by how much each pair of features of each token turns, in radians",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.applies(plan); },
        .reads = these({positions, "inverse_frequencies"}),
        .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
        .formula = always(name + "(t, i) = " + positions + "(t) * inverse_frequencies(i)"),
        .compute = [positions](const Plan& plan, const Ledger& ledger) -> Tensor {
            return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                using T = decltype(zero);
                const auto step = twin(plan, loop::angles<T>, vectorized::angles<T>);
                return {{"token", "pair"},
                        step(ledger[positions].as<std::int64_t>(),
                             ledger["inverse_frequencies"].as<T>())};
            });
        },
        .note = [](const Subject&) -> std::string {
            return "One row of angles for each token: twice the position, twice the angle. A token "
                   "at position 0 does not turn.";
        },
        .why =
            [positions](const WalkView& view, Derivation& derivation) {
                const Cell position = view.at(positions);
                const Cell frequency = view.at("inverse_frequencies");
                derivation.rule = positions + " * inverse_frequencies";
                derivation.arithmetic =
                    brief(position.value) + " * " + four_decimals(frequency.value);
                derivation.sources = {position, frequency};
            },
        .code =
            [name, positions](const StepLines& of) {
                const std::string dtype = dtype_code(of.plan.compute_dtype, of.language);
                return name + " = " + positions + (of.torch() ? ".to(" : ".astype(") + dtype +
                       ")[:, None] * inverse_frequencies";
            },
    };
}

/// cos or sin.
Step circle_card(const Standing& standing, const std::string& function) {
    const std::string name = standing.name(function);
    const std::string angles = standing.name("angles");
    const bool cosine = function == "cos";
    return {
        .name = name,
        .title = std::string("the ") + (cosine ? "cosine" : "sine") + " of each angle",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.applies(plan); },
        .reads = these({angles}),
        .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
        .formula = always(name + " = " + function + "(" + angles + ")"),
        .compute = [angles, cosine](const Plan& plan, const Ledger& ledger) -> Tensor {
            return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                using T = decltype(zero);
                const auto step = cosine ? twin(plan, loop::cosines<T>, vectorized::cosines<T>)
                                         : twin(plan, loop::sines<T>, vectorized::sines<T>);
                return {{"token", "pair"}, step(ledger[angles].as<T>(), 1)};
            });
        },
        .note = [cosine](const Subject&) -> std::string {
            return cosine ? "How much of itself a feature keeps when its pair turns."
                          : "How much a feature takes of the other one of its pair.";
        },
        .why =
            [angles, function](const WalkView& view, Derivation& derivation) {
                const Cell angle = view.at(angles);
                derivation.rule = function + "(" + angles + ")";
                derivation.arithmetic = function + "(" + four_decimals(angle.value) + ")";
                derivation.sources = {angle};
            },
        .code =
            [name, angles, function](const StepLines& of) {
                return name + " = " + of.module() + "." + function + "(" + angles + ")";
            },
    };
}

}  // namespace

StepTable angle_cards() {
    StepTable cards{positions_card({false}), inverse_frequencies_card()};
    for (const Standing standing : {Standing{false}, Standing{true}}) {
        if (standing.of_memory) cards.push_back(positions_card(standing));
        cards.push_back(angles_card(standing));
        cards.push_back(circle_card(standing, "cos"));
        cards.push_back(circle_card(standing, "sin"));
    }
    return cards;
}

}  // namespace attn
