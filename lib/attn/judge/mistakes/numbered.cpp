#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "attn/judge/mistakes/change.hpp"

// Entries of the catalogue for any number: a fill in place of minus infinity, a scale, a base.

namespace attn {

/// Formats a number in the fewest characters: -1e9, -100, -65504.
std::string shortest_number(double number) {
    const std::string plain = fmt::format("{:.6g}", number);
    std::string power = fmt::format("{:.5e}", number);
    const std::size_t e = power.find('e');
    std::string digits = power.substr(0, e);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    power = digits + "e" + std::to_string(std::stoi(power.substr(e + 1)));
    return power.size() < plain.size() || plain.find('e') != std::string::npos ? power : plain;
}

const Mistake& numbered_mistake(std::string_view id, double number) {
    // Created once per number, because findings point to them.
    static std::map<std::pair<std::string, double>, Mistake> all;
    const auto known = all.find({std::string(id), number});
    if (known != all.end()) return known->second;
    const auto& texts = mistake_texts();
    const auto text = std::ranges::find(texts, id, &MistakeText::id);
    return all.insert({{std::string(id), number}, mistake_of(*text, number)}).first->second;
}

const Mistake& finite_fill(double fill) { return numbered_mistake("finite-fill=N", fill); }
const Mistake& added_fill(double fill) { return numbered_mistake("added-fill=N", fill); }
const Mistake& mistaken_addition(double fill) { return numbered_mistake("mask-added=N", fill); }
const Mistake& other_scale(double divisor) { return numbered_mistake("scale-other=N", divisor); }

const Mistake& mistaken_fill(double fill) {
    if (std::abs(fill) < 1e-3) {
        return find_mistake(fill == 0 ? "mask-times-zero" : "mask-tiny-fill");
    }
    return numbered_mistake(fill > 0 ? "mask-sign=N" : "mask-fill-too-small=N", fill);
}

namespace {

/// Counts the keys that the last row of weights sees.
double seen_keys(const Tensor& weights, const Tensor&) {
    double count = 0;
    const std::size_t keys = weights.shape().back();
    for (std::size_t i = weights.size() - keys; i < weights.size(); ++i) {
        count += weights.at(i) != 0 ? 1 : 0;
    }
    return count;
}

/// Returns the first key that no row sees although some should.
double unseen_key(const Tensor& weights, const Tensor& expected) {
    const std::size_t keys = weights.shape().back();
    for (std::size_t k = 0; k < keys; ++k) {
        bool is_seen = false, should_be = false;
        for (std::size_t i = k; i < weights.size(); i += keys) {
            is_seen = is_seen || weights.at(i) != 0;
            should_be = should_be || expected.at(i) != 0;
        }
        if (should_be && !is_seen) return static_cast<double>(k);
    }
    return -1;
}

}  // namespace

const std::vector<NumberedEntry>& numbered_entries() {
    const auto of = [](const std::string& id) {
        return [id](double number) -> const Mistake& { return numbered_mistake(id, number); };
    };
    const auto scale = [](const Plan& plan) { return 1 / effect_of(plan.scale); };
    const auto base = [](const Plan& plan) { return plan.config.rotary.theta; };
    const auto eps = [](const Plan& plan) { return plan.config.qk_norm.eps; };
    const auto window = [](const Plan& plan) {
        return static_cast<double>(*plan.config.mask.window);
    };
    std::vector<double> windows(64), keys(64);
    std::iota(windows.begin(), windows.end(), 1);
    std::iota(keys.begin(), keys.end(), 0);
    static const std::vector<NumberedEntry> all = [&] {
        std::vector<NumberedEntry> list{
            // What models and libraries take: in float32 a smaller one leaves too few digits to
            // fit.
            {.entry = of("norm-eps=N"),
             .starts = {1e-5, 1e-3, 1e-6, 1e-8, 1e-12, 0, 1e-4, 1e-2, 0.1},
             .whole = true,
             .right = eps},
            {.entry = of("scale-other=N"), .starts = {1, 0.2, 5}, .positive = true, .right = scale},
            {.entry = mistaken_fill, .starts = {-2, -8}},
            {.entry = mistaken_addition, .starts = {-1, -6}},
            {.entry = mistaken_addition, .starts = {1e4, 1e3, 100, 65504}, .whole = true},
            {.entry = of("rope-theta=N"),
             .starts = {1000, 50000, 1e6},
             .positive = true,
             .right = base},
            {.entry = of("cache-empty-slot=N"), .starts = {1, 10}, .positive = true},
            {.entry = of("rope-offset=N"),
             .starts = {-3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8},
             .whole = true},
            {.entry = of("window-other=N"),
             .starts = windows,
             .whole = true,
             .seen = seen_keys,
             .right = window},
            {.entry = of("weights-factor=N"), .starts = {1}, .positive = true},
            {.entry = of("context-factor=N"), .starts = {1}, .positive = true},
            {.entry = of("key-hidden=N"),
             .starts = keys,
             .whole = true,
             .nested = true,
             .seen = unseen_key},
            {.entry = of("key-lost=N"),
             .starts = keys,
             .whole = true,
             .nested = true,
             .seen = unseen_key},
        };
        // Softmax computed block by block, in blocks of that many keys.
        for (const MistakeText& text : mistake_texts()) {
            if (!text.id.starts_with("running-")) continue;
            list.push_back({.entry = of(text.id),
                            .starts = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128},
                            .whole = true,
                            .nested = true});
        }
        return list;
    }();
    return all;
}

}  // namespace attn
