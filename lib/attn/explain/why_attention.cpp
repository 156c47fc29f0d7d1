#include "attn/explain/why_parts.hpp"
#include "attn/explain/words.hpp"

namespace attn {
namespace {

void derive_scores(const WalkView& view, const Place& place, Derivation& derivation) {
    derivation.rule = "sum over features f of query(f) * key(f)";
    for (std::size_t f = 0; f < view.ledger["query"].extent("feature"); ++f) {
        const Place feature = with(place, "feature", f);
        add_product(derivation, view.at("query", feature), view.at("key", feature));
    }
}

void derive_scaled(const WalkView& view, const Place& place, Derivation& derivation) {
    const Cell score = view.at("scores", place);
    const bool divides = view.plan.scale.operation == ScaleFactor::Operation::divide;
    derivation.rule = divides ? "scores / " + brief(view.plan.scale.number)
                              : "scores * " + brief(view.plan.scale.number);
    derivation.arithmetic = four_decimals(score.value) + (divides ? " / " : " * ") +
                            four_decimals(view.plan.scale.number);
    derivation.sources = {score};
}

void derive_masked(const WalkView& view, const Place& place, Derivation& derivation) {
    const Cell hidden = view.at("mask", place);
    const Cell before =
        view.at(view.ledger.has("scaled_scores") ? "scaled_scores" : "scores", place);
    derivation.rule = hidden.value != 0 ? "-inf, because the mask hides this cell"
                                        : "the score itself, because the mask lets it pass";
    derivation.arithmetic = hidden.value != 0 ? "-inf" : cell_text(before);
    derivation.sources = {before};
}

void derive_mask(const WalkView& view, const Place& place, Derivation& derivation) {
    std::string reason;
    const std::size_t key = place.at("key");
    if (view.plan.config.mask.causal && place.count("query") != 0) {
        const auto shift = view.plan.config.causal_align == CausalAlign::end
                               ? static_cast<std::ptrdiff_t>(view.plan.key_len) -
                                     static_cast<std::ptrdiff_t>(view.plan.query_len)
                               : 0;
        const auto query = static_cast<std::ptrdiff_t>(place.at("query")) + shift;
        if (static_cast<std::ptrdiff_t>(key) > query) reason = "the key comes after the query";
    }
    if (view.plan.config.mask.padding) {
        const std::size_t batch = place.count("batch") != 0 ? place.at("batch") : 0;
        if (view.plan.key_padding.data()[batch * view.plan.key_len + key]) {
            reason += (reason.empty() ? "" : " and ") + std::string("the key is padding");
        }
    }
    if (reason.empty()) {
        reason = derivation.cell.value != 0 ? "the given mask hides it" : "nothing hides it";
    }
    derivation.rule = (derivation.cell.value != 0 ? "hidden: " : "visible: ") + reason;
}

void derive_over_row(const WalkView& view, const std::string& step, const Place& place,
                     Derivation& derivation) {
    const std::string axis = view.softmax_axis();
    const std::string source = step == "row_sum" ? "exponentials" : view.softmax_input();
    const std::size_t length = view.ledger[source].extent(axis);
    if (step == "row_sum") {
        derivation.rule = "sum over the " + axis + " axis of exponentials";
        for (std::size_t i = 0; i < length; ++i) {
            const Cell cell = view.at(source, with(place, axis, i));
            derivation.terms.push_back({cell, std::nullopt, cell.value});
        }
        return;
    }
    derivation.rule = "the largest " + source + " along the " + axis + " axis";
    for (std::size_t i = 0; i < length; ++i) {
        const Cell cell = view.at(source, with(place, axis, i));
        if (cell.value == derivation.cell.value) {
            derivation.arithmetic = cell_text(cell);
            derivation.sources = {cell};
            return;
        }
    }
}

void derive_exponential(const WalkView& view, const Place& place, Derivation& derivation) {
    const Cell score = view.at(view.softmax_input(), place);
    const Cell largest = view.at("row_max", place);
    derivation.rule = "exp(" + score.step + " - row_max)";
    derivation.arithmetic =
        "exp(" + four_decimals(score.value) + " - " + four_decimals(largest.value) + ")";
    derivation.sources = {score, largest};
}

void derive_weight(const WalkView& view, const Place& place, Derivation& derivation) {
    const Cell exponential = view.at("exponentials", place);
    const Cell sum = view.at("row_sum", place);
    const Cell score = view.at(view.softmax_input(), place);
    const Cell largest = view.at("row_max", place);
    derivation.rule = "exp(" + score.step + " - row_max) / row_sum";
    derivation.arithmetic = "exp(" + four_decimals(score.value) + " - " +
                            four_decimals(largest.value) + ") / " + four_decimals(sum.value) +
                            " = " + four_decimals(exponential.value) + " / " +
                            four_decimals(sum.value);
    derivation.sources = {score, largest, sum};
}

void derive_context(const WalkView& view, const Place& place, Derivation& derivation) {
    derivation.rule = "sum over keys k of weights(k) * value(k)";
    for (std::size_t k = 0; k < view.plan.key_len; ++k) {
        const Place key = with(place, "key", k);
        add_product(derivation, view.at("weights", key), view.at("value", key));
    }
}

}  // namespace

bool derive_attention(const WalkView& view, const std::string& step, const Place& place,
                      Derivation& derivation) {
    if (step == "row_max" || step == "row_sum") {
        derive_over_row(view, step, place, derivation);
        return true;
    }
    using Rule = void (*)(const WalkView&, const Place&, Derivation&);
    static const std::map<std::string, Rule> rules{
        {"scores", derive_scores},   {"scaled_scores", derive_scaled},
        {"mask", derive_mask},       {"masked_scores", derive_masked},
        {"weights", derive_weight},  {"exponentials", derive_exponential},
        {"context", derive_context},
    };
    const auto rule = rules.find(step);
    if (rule != rules.end()) rule->second(view, place, derivation);
    return rule != rules.end();
}

}  // namespace attn
