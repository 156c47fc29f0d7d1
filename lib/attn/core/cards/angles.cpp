#include <algorithm>
#include <numbers>

#include <fmt/format.h>

#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/rotate.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

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

}  // namespace

Step positions_card(bool of_memory) {
    const Standing standing{of_memory};
    return {
        .name = standing.name("positions"),
        .title = "where each token stands",
        .holds = RuleType::whole,
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
    };
}

namespace {

// inverse_frequencies: how fast each pair rotates.

bool is_stretched(const Plan& plan) { return stretching(plan) != nullptr; }

template <Kind kind>
bool stretched_as(const Plan& plan) {
    return stretching(plan) != nullptr && stretching(plan)->kind == kind;
}

}  // namespace

std::optional<std::string> frequency_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::size_t width = 2 * plan.rotary_pairs();
    if (word == "base") return json_number(plan.rotary_base());
    if (word == "width") return std::to_string(width);
    if (word == "power") return filled("1 / {base} ^ (2 * i / {width})", of, frequency_word);
    const RopeScaling* scaling = stretching(plan);
    if (scaling == nullptr) return std::nullopt;
    const bool is_llama = scaling->kind == Kind::llama3;
    if (word == "factor") return json_number(scaling->factor);
    if (word == "length") return json_number(scaling->length);
    if (word == "share") {
        return filled(is_llama
                          ? "1 - min(max(({length} * {power} / (2 * pi) - {low}) / {range}, 0), 1)"
                          : "min(max((i - {low}) / {range}, 0), 1)",
                      of, frequency_word);
    }
    if (word == "factors" || word == "divisors") {
        const std::vector<double> factors = scaling->pair_factors(plan.rotary_tokens());
        if (word == "factors") return fmt::format("{}", fmt::join(factors, ", "));
        std::string divisors;
        for (std::size_t i = 0; i + 1 < factors.size(); ++i) {
            divisors += fmt::format("if i == {} then {} else ", i, factors[i]);
        }
        return divisors + json_number(factors.back());
    }
    const auto [low, high] = is_llama ? std::pair(scaling->low, scaling->high)
                                      : scaling->ramp(plan.rotary_base(), width);
    if (word == "low") return json_number(low);
    return word == "range" ? std::optional(json_number(high - low)) : std::nullopt;
}

namespace {

Step inverse_frequencies_card() {
    Step card{
        .name = "inverse_frequencies",
        .title = "how far each pair of features rotates from one position to the next, in radians",
        .shown = false,
        .applies = [](const Plan& plan) { return plan.rotates(); },
        .outline =
            [](const Plan& plan) {
                return Outline{{"pair"}, {plan.rotary_pairs()}};
            },
        .in_float32 = true,
        .rule = texts({{stretched_as<Kind::linear>, "{step}[i] = {power} / {factor}"},
                       {stretched_as<Kind::longrope>, "{step}[i] = {power} / ({divisors})"},
                       {is_stretched,
                        "{step}[i] = {power} / {factor} * ({share}) + {power} * (1 - ({share}))"},
                       {"{step}[i] = {power}"}},
                      frequency_word),
    };
    card.compute = [stretched = by_rule(card)](const Plan& plan, const Ledger& ledger) -> Tensor {
        if (is_stretched(plan)) return stretched(plan, ledger);
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            return {{"pair"}, inverse_frequencies<T>(plan.rotary_base(), 2 * plan.rotary_pairs())};
        });
    };
    return card;
}

// angles, cos and sin of each token and pair.

Outline pair_outline(const Standing& standing, const Plan& plan) {
    return {{"token", "pair"}, {standing.positions(plan).size(), plan.rotary_pairs()}};
}

Step angles_card(const Standing& standing) {
    const std::string name = standing.name("angles");
    const std::string positions = standing.name("positions");
    return with_loop(
        {
            .name = name,
            .title = "by how much each pair of features of each token rotates, in radians",
            .shown = false,
            .tokens = standing.of_memory ? "key" : "query",
            .applies = [standing](const Plan& plan) { return standing.applies(plan); },
            .reads = these({positions, "inverse_frequencies"}),
            .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
            .in_float32 = true,
            .rule = always(name + "[t,i] = " + positions + "[t] * inverse_frequencies[i]"),
        },
        []<class T>(const LoopInputs<T>& in) { return attn::angles(in.whole(0), in[1]); });
}

/// cos or sin.
Step circle_card(const Standing& standing, const std::string& function) {
    const std::string name = standing.name(function);
    const std::string angles = standing.name("angles");
    const bool cosine = function == "cos";
    return with_loop(
        {
            .name = name,
            .title = std::string("the ") + (cosine ? "cosine" : "sine") + " of each angle",
            .shown = false,
            .tokens = standing.of_memory ? "key" : "query",
            .applies = [standing](const Plan& plan) { return standing.applies(plan); },
            .reads = these({angles}),
            .outline = [standing](const Plan& plan) { return pair_outline(standing, plan); },
            .at_once = always_so,
            .rule =
                [name, function, angles](const PlannedStep& of) {
                    const double factor = of.plan.rotary_factor();
                    return name + "[t,i] = " + function + "(" + angles + "[t,i])" +
                           (factor == 1 ? "" : " * " + json_number(factor));
                },
        },
        [cosine]<class T>(const LoopInputs<T>& in) {
            return (cosine ? cosines<T> : sines<T>)(in[0], in.plan.rotary_factor());
        });
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
