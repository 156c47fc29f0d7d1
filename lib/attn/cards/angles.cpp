#include <algorithm>
#include <numbers>

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/steps/rotary.hpp"
#include "attn/text/json.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

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

/// A number with all its digits, for lines that compute: `10000`.
std::string digits(double number) {
    NumberBuffer buffer;
    return {buffer.data(), write_shortest_fixed(buffer.data(), number)};
}

/// Whole numbers along an index, in runs that count up by one: `if t < 2 then t + 5 else t - 2`.
std::string listed_rule(const std::string& index, const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (std::size_t first = 0, end = 0; first < numbers.size(); first = end) {
        const std::int64_t offset = numbers[first] - static_cast<std::int64_t>(first);
        while (end < numbers.size() && numbers[end] == offset + static_cast<std::int64_t>(end)) {
            ++end;
        }
        if (end < numbers.size()) text += "if " + index + " < " + std::to_string(end) + " then ";
        text += index;
        if (offset != 0)
            text += offset > 0 ? " + " + std::to_string(offset) : " - " + std::to_string(-offset);
        if (end < numbers.size()) text += " else ";
    }
    return text;
}

using Kind = RopeScaling::Kind;

/// How frequencies are stretched for long inputs; nothing where they are not.
const RopeScaling* stretching(const Plan& plan) {
    const std::optional<RopeScaling>& scaling = plan.config.rotary.scaling;
    return scaling && scaling->kind != Kind::dynamic ? &*scaling : nullptr;
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

}  // namespace

Step positions_card(bool of_memory) {
    const Standing standing{of_memory};
    return {
        .name = standing.name("positions"),
        .title = "where each token stands",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.counts(plan); },
        .outline =
            [standing](const Plan& plan) {
                return Outline{{"token"}, {standing.positions(plan).size()}};
            },
        .rule =
            [standing](const PlannedStep& of) {
                return standing.name("positions") +
                       "[t] = " + listed_rule("t", standing.positions(of.plan));
            },
        .compute = [standing](const Plan& plan, const Ledger&) -> Tensor {
            const std::vector<std::int64_t>& positions = standing.positions(plan);
            Array<std::int64_t> numbers = empty_array<std::int64_t>({positions.size()});
            std::copy(positions.begin(), positions.end(), numbers.data());
            return {{"token"}, std::move(numbers)};
        },
        .note = [](const Subject& subject) -> std::string {
            return subject.plan.rotates()
                       ? "With rotary positions only their differences matter to the scores."
                       : "Each position adds its own row to the token that stands there.";
        },
        .code = [standing](const StepLines& of) { return positions_code(standing, of); },
    };
}

namespace {

// inverse_frequencies: how fast each pair rotates.

Tensor compute_inverse_frequencies(const Plan& plan, const Ledger&) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const auto step =
            twin(plan, loop::inverse_frequencies<T>, vectorized::inverse_frequencies<T>);
        const double base = plan.rotary_base();
        Array<T> frequencies = step(base, 2 * plan.rotary_pairs());
        if (const RopeScaling* scaling = stretching(plan)) {
            const auto stretch =
                twin(plan, loop::scale_frequencies<T>, vectorized::scale_frequencies<T>);
            frequencies = stretch(frequencies, *scaling, base, plan.rotary_tokens());
        }
        return {{"pair"}, std::move(frequencies)};
    });
}

/// longrope's divisors of all pairs, which its list names: `1, 1.25, 4`.
std::string pair_factors_text(const RopeScaling& scaling, const Plan& plan) {
    std::string text;
    for (const double factor : scaling.pair_factors(plan.rotary_tokens())) {
        text += (text.empty() ? "" : ", ") + digits(factor);
    }
    return text;
}

std::string inverse_frequencies_rule(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string left = "inverse_frequencies[i] = ";
    const std::string power = "1 / " + json_number(plan.rotary_base()) + " ^ (2 * i / " +
                              std::to_string(2 * plan.rotary_pairs()) + ")";
    const RopeScaling* scaling = stretching(plan);
    if (scaling == nullptr) return left + power;
    const std::string factor = json_number(scaling->factor);
    if (scaling->kind == Kind::linear) return left + power + " / " + factor;
    if (scaling->kind == Kind::longrope) {
        std::string divisors;
        const std::vector<double> factors = scaling->pair_factors(plan.rotary_tokens());
        for (std::size_t i = 0; i + 1 < factors.size(); ++i) {
            divisors +=
                "if i == " + std::to_string(i) + " then " + json_number(factors[i]) + " else ";
        }
        return left + power + " / (" + divisors + json_number(factors.back()) + ")";
    }
    std::string share = "min(max(";
    if (scaling->kind == Kind::llama3) {
        share = "1 - " + share + "(" + json_number(scaling->length) + " * " + power +
                " / (2 * pi) - " + json_number(scaling->low) + ") / " +
                json_number(scaling->high - scaling->low) + ", 0), 1)";
    } else {
        const auto [first, last] = scaling->ramp(plan.rotary_base(), 2 * plan.rotary_pairs());
        share += "(i - " + json_number(first) + ") / " + json_number(last - first) + ", 0), 1)";
    }
    return left + power + " / " + factor + " * (" + share + ") + " + power + " * (1 - (" + share +
           "))";
}

/// Why the frequencies are not those of theta.
std::string scaling_sentence(const Plan& plan) {
    const std::optional<RopeScaling>& scaling = plan.config.rotary.scaling;
    if (!scaling) return {};
    const std::string factor = digits(scaling->factor);
    switch (scaling->kind) {
        case Kind::linear:
            return "All pairs rotate " + factor + " times slower than without scaling.";
        case Kind::dynamic:
            if (plan.rotary_base() == plan.config.rotary.theta) {
                return "No position is beyond " + digits(scaling->length) +
                       ", so the base stays as it was.";
            }
            return "Positions go beyond " + digits(scaling->length) + ": the base grows from " +
                   digits(plan.config.rotary.theta) + " to " + brief(plan.rotary_base()) + ".";
        case Kind::longrope: {
            const bool is_long = scaling->exceeds(plan.rotary_tokens());
            return (is_long ? "Positions go beyond " : "No position is beyond ") +
                   digits(scaling->length) + ": the " + (is_long ? "long" : "short") +
                   " list of factors says how much slower each pair rotates.";
        }
        case Kind::llama3:
        case Kind::yarn:
            break;
    }
    return "Fast pairs rotate as in training, slow ones " + factor +
           " times slower, and those between are blended.";
}

std::string inverse_frequencies_note(const Subject& subject) {
    const Cells cells(subject.tensor);
    const std::size_t last = subject.tensor.size() - 1;
    const auto rotation = [&](std::size_t pair) {
        return brief(2 * std::numbers::pi / cells[pair]) + " positions";
    };
    const auto pair = [&](std::size_t i) {
        return std::to_string(subject.excerpt.index("pair", i));
    };
    std::string note = "Pair " + pair(0) + " makes a full turn in " + rotation(0);
    if (last > 0) note += ", pair " + pair(last) + " in " + rotation(last);
    note += ".";
    say(note, scaling_sentence(subject.plan));
    return note;
}

/// The lines that stretch the frequencies.
std::string scaling_code(const StepLines& of, const RopeScaling& scaling) {
    const std::string name = "inverse_frequencies";
    const std::string factor = digits(scaling.factor);
    if (scaling.kind == Kind::linear) return "\n" + name + " = " + name + " / " + factor;
    const std::string dtype = ", dtype=" + dtype_code(of.plan.compute_dtype, of.language) + ")";
    if (scaling.kind == Kind::longrope) {
        return "\npair_factors = " + of.module() + (of.torch() ? ".tensor([" : ".array([") +
               pair_factors_text(scaling, of.plan) + "]" + dtype + "\n" + name + " = " + name +
               " / pair_factors";
    }
    std::string share;
    if (scaling.kind == Kind::llama3) {
        const std::string rotations = digits(scaling.length) + " / (2 * math.pi / " + name + ")";
        share = "1 - ((" + rotations + " - " + digits(scaling.low) + ") / " +
                digits(scaling.high - scaling.low) + ").clip(0, 1)";
    } else {
        const auto [first, last] = scaling.ramp(of.plan.rotary_base(), 2 * of.plan.rotary_pairs());
        share = "((" + of.module() + ".arange(" + std::to_string(of.plan.rotary_pairs()) + dtype +
                " - " + digits(first) + ") / " + digits(last - first) + ").clip(0, 1)";
    }
    return "\nshare = " + share + "\n" + name + " = " + name + " / " + factor + " * share + " +
           name + " * (1 - share)";
}

std::string inverse_frequencies_code(const StepLines& of) {
    const std::string width = std::to_string(2 * of.plan.rotary_pairs());
    const RopeScaling* scaling = stretching(of.plan);
    return "inverse_frequencies = 1 / " + digits(of.plan.rotary_base()) + " ** (" + of.module() +
           ".arange(0, " + width + ", 2, dtype=" + dtype_code(of.plan.compute_dtype, of.language) +
           ") / " + width + ")" + (scaling ? scaling_code(of, *scaling) : "");
}

Step inverse_frequencies_card() {
    return {
        .name = "inverse_frequencies",
        .title = "how far each pair of features rotates from one position to the next, in radians",
        .shown = false,
        .applies = [](const Plan& plan) { return plan.rotates(); },
        .outline =
            [](const Plan& plan) {
                return Outline{{"pair"}, {plan.rotary_pairs()}};
            },
        .rule = inverse_frequencies_rule,
        .compute = compute_inverse_frequencies,
        .note = inverse_frequencies_note,
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
        .title = "by how much each pair of features of each token rotates, in radians",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.applies(plan); },
        .reads = these({positions, "inverse_frequencies"}),
        .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
        .rule = always(name + "[t,i] = " + positions + "[t] * inverse_frequencies[i]"),
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
                   "at position 0 does not rotate.";
        },
        .code =
            [name, positions](const StepLines& of) {
                const std::string dtype = dtype_code(of.plan.compute_dtype, of.language);
                return name + " = " + positions + (of.torch() ? ".to(" : ".astype(") + dtype +
                       ")[:, None] * inverse_frequencies";
            },
    };
}

/// What yarn and longrope multiply cosines and sines by: ` * 1.3466`.
std::string factor_text(const Plan& plan, std::string (*text)(double) = digits) {
    return plan.rotary_factor() == 1 ? std::string() : " * " + text(plan.rotary_factor());
}

/// cos or sin.
Step circle_card(const Standing& standing, const std::string& function) {
    const std::string name = standing.name(function);
    const std::string angles = standing.name("angles");
    const std::string formula = name + " = " + function + "(" + angles + ")";
    const bool cosine = function == "cos";
    return {
        .name = name,
        .title = std::string("the ") + (cosine ? "cosine" : "sine") + " of each angle",
        .shown = false,
        .tokens = standing.of_memory ? "key" : "query",
        .applies = [standing](const Plan& plan) { return standing.applies(plan); },
        .reads = these({angles}),
        .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
        .rule =
            [name, function, angles](const PlannedStep& of) {
                const double factor = of.plan.rotary_factor();
                return name + "[t,i] = " + function + "(" + angles + "[t,i])" +
                       (factor == 1 ? "" : " * " + json_number(factor));
            },
        .compute = [angles, cosine](const Plan& plan, const Ledger& ledger) -> Tensor {
            return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
                using T = decltype(zero);
                const auto step = cosine ? twin(plan, loop::cosines<T>, vectorized::cosines<T>)
                                         : twin(plan, loop::sines<T>, vectorized::sines<T>);
                return {{"token", "pair"}, step(ledger[angles].as<T>(), plan.rotary_factor())};
            });
        },
        .note = [cosine](const Subject&) -> std::string {
            return cosine ? "How much of itself a feature keeps when its pair rotates."
                          : "How much a feature takes of the other one of its pair.";
        },
        .code =
            [name, angles, function](const StepLines& of) {
                return name + " = " + of.module() + "." + function + "(" + angles + ")" +
                       factor_text(of.plan);
            },
    };
}

}  // namespace

StepTable angle_cards() {
    StepTable cards{inverse_frequencies_card()};
    for (const Standing standing : {Standing{false}, Standing{true}}) {
        cards.push_back(angles_card(standing));
        cards.push_back(circle_card(standing, "cos"));
        cards.push_back(circle_card(standing, "sin"));
    }
    return cards;
}

}  // namespace attn
