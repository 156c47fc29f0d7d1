#include <algorithm>

#include <fmt/format.h>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/starts.hpp"
#include "attn/ground/text/json.hpp"

// The words in braces in inputs.attn and rope.attn.

namespace attn {
namespace {

/// Formats integers along an index, in runs that count up by one: `if t < 2 then t + 5 else t - 2`.
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

std::optional<std::string> input_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string& step = of.step.name;
    if (word == "earlier layers") return earlier_layers(plan);
    const bool of_memory = step.starts_with("memory");
    if (word == "listed") return listed_rule("t", Standing{of_memory}.positions(plan));
    if (word != "origin") return std::nullopt;
    const Start& start = starts[of_memory ? 1 : 0];
    if (const Tokens* const tokens = tokens_of(start, plan)) {
        if (tokens->embedded) return "each token's number in the tokenizer";
        return tokens->vocabulary.empty() ? step + " as given"
                                          : "each token's number in the vocabulary";
    }
    const auto* const random = std::get_if<RandomInput>(&start.source(plan));
    if (random == nullptr) return step + " as given";
    return step + (random->distribution == Distribution::normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
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

/// Returns the features of a row that are rotated, and their partners.
std::optional<std::string> rope_word(std::string_view word, const PlannedStep& of) {
    const Plan& plan = of.plan;
    if (word == "times") {
        const double factor = plan.rotary_factor();
        return factor == 1 ? "" : " * " + json_number(factor);
    }
    const Projected* const part = part_of(of.step.name);
    if (part == nullptr) return frequency_word(word, of);
    if (word == "cos" || word == "sin") {
        return (part->of_memory(plan) ? "memory_" : "") + std::string(word);
    }
    const bool half = plan.config.rotary.pairing == Pairing::half;
    const std::string pairs = std::to_string(plan.rotary_pairs());
    if (word == "away") return half ? pairs : "1";
    const std::size_t all = part->width(plan), first = plan.first_rotated(all);
    const std::size_t end = first + 2 * plan.rotary_pairs();
    const std::string feature = first == 0 ? "f" : "(f - " + std::to_string(first) + ")";
    if (word == "pair") return half ? feature + " % " + pairs : feature + " / 2";
    if (word == "is first") return half ? feature + " < " + pairs : feature + " % 2 == 0";
    if (word != "still") return std::nullopt;
    std::string still;
    if (first > 0) still = "f < " + std::to_string(first);
    if (end < all) still += (still.empty() ? "f >= " : " or f >= ") + std::to_string(end);
    if (still.empty()) return still;
    return "if " + still + " then " + (part->number == 0 ? "queries" : "keys") + "[t,f] else ";
}

}  // namespace attn
