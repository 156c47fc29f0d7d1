#include <algorithm>

#include <fmt/format.h>

#include "attn/core/cards/cards.hpp"

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

std::optional<std::string> frequency_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::size_t width = 2 * plan.rotary_pairs();
    if (word == "base") return json_number(plan.rotary_base());
    if (word == "width") return std::to_string(width);
    if (word == "power") return filled("1 / {base} ^ (2 * i / {width})", of, frequency_word);
    const RopeScaling* scaling = stretching(plan);
    if (scaling == nullptr) return std::nullopt;
    const bool is_llama = scaling->kind == RopeScaling::Kind::llama3;
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

}  // namespace attn
