#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "attn/ground/text/json.hpp"
#include "attn/judge/mistakes/change.hpp"

// Entries of the catalogue for any number: in the place of minus infinity, of the scale, of a base.

namespace attn {

/// A number in the fewest letters: -1e9, -100, -65504.
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

namespace {

/// The number as a rule reads it: no digit less than the number has.
std::string in_full(double number, const std::string& word) {
    return std::stod(word) == number ? word : json_number(number);
}

/// A number that hides a key as well as -inf does.
void harmless_fill(std::vector<Mistake>& list, const std::string& id, const std::string& title,
                   const std::string& cell) {
    entry(list, id, "masked_scores", title,
          "after softmax there is no difference as long as a row keeps one visible key", "",
          "A number far below every score hides a key as well as -inf does.", needs_mask,
          follows("masked_scores[q,k] = if mask[q,k] then " + cell + " else scores[q,k]"));
}

void filled_with(std::vector<Mistake>& list, double, const std::string& word) {
    harmless_fill(list, "finite-fill=" + word, "Hidden scores hold " + word + " instead of -inf",
                  word);
}

void added(std::vector<Mistake>& list, double, const std::string& word) {
    harmless_fill(list, "added-fill=" + word, word + " was added to hidden scores",
                  "scores[q,k] + " + word);
}

void wrongly_filled(std::vector<Mistake>& list, double fill, const std::string& word) {
    const bool sign = fill > 0;
    in_mask_use(list, (sign ? "mask-sign=" : "mask-fill-too-small=") + word,
                "Hidden scores were filled with " + word,
                sign ? "rows with a hidden key look at hidden keys only"
                     : "hidden keys keep a weight wherever scores come near the fill",
                fill_with_inf,
                sign ? "A large positive score wins the row: what is hidden must be far below all."
                     : "A fill is only as good as its distance from the lowest true score.",
                "if mask[q,k] then " + in_full(fill, word) + " else scores[q,k]");
}

void wrongly_added(std::vector<Mistake>& list, double fill, const std::string& word) {
    in_mask_use(list, "mask-added=" + word, word + " was added to hidden scores",
                "hidden keys keep a part of their weight", fill_with_inf,
                "What is added must be far below the distance between any two scores.",
                "if mask[q,k] then scores[q,k] + " + in_full(fill, word) + " else scores[q,k]");
}

void scaled_otherwise(std::vector<Mistake>& list, double divisor, const std::string& word) {
    entry(list, "scale-other=" + word, "scaled_scores", "The scores were divided by " + word,
          "all scores are off by one factor", "scores = scores / math.sqrt(q.size(-1))",
          "One factor is right: that of the width of a head, or the one of the configuration.",
          needs_scale, follows("scaled_scores[q,k] = scores[q,k] / " + in_full(divisor, word)));
}

void turned_by_base(std::vector<Mistake>& list, double base, const std::string& word) {
    entry(list, "rope-theta=" + word, "inverse_frequencies",
          "The base of the frequencies was " + word,
          "pair 0 is right, and the error grows with the number of the pair",
          "theta = config.rope_theta",
          "Read rope_theta from the configuration: most models no longer have 10000.", needs_rope,
          with_plan({"inverse_frequencies"},
                    [base](Plan& plan) { plan.config.rotary.theta = base; }));
}

void weights_times(std::vector<Mistake>& list, double factor, const std::string& word) {
    entry(list, "weights-factor=" + word, "weights", "The weights were multiplied by " + word,
          "rows sum to " + word + ", and every context is off by that factor",
          Fix("weights = scores.softmax(dim=-1)",
              "weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)"),
          "Softmax gives rows that sum to 1. A factor after it belongs to dropout, in training.",
          {}, follows("weights[q,k] = " + in_full(factor, word) + " * weights[q,k]"));
}

void context_times(std::vector<Mistake>& list, double factor, const std::string& word) {
    entry(list, "context-factor=" + word, "context", "The context was multiplied by " + word,
          "every number of the result is off by that factor",
          Fix("context = weights @ value", "context = weights @ value"),
          "The weights are the only factors of the values: what follows expects their size.", {},
          follows("context[q,f] = " + in_full(factor, word) + " * context[q,f]"));
}

/// A key that softmax did not see, or whose weight was lost after it.
template <bool after>
void key_left_out(std::vector<Mistake>& list, double key, const std::string& word) {
    const std::string rest =
        after ? "weights[q,k]" : "weights[q,k] / (1 - weights[q," + word + "])";
    entry(list, (after ? "key-lost=" : "key-hidden=") + word, "weights",
          "Key " + word + (after ? " lost its weight after softmax" : " was left out of softmax"),
          after ? "rows sum to less than 1" : "the other keys share its weight",
          Fix("scores = q @ k.transpose(-2, -1)", "scores = q @ k.swapaxes(-1, -2)"),
          "Count the keys that a row sees: loops over blocks lose the first, the last, or a block.",
          {{[key](const Plan& plan) {
                return key >= 0 && key < static_cast<double>(plan.key_len) && plan.key_len > 1;
            },
            "there is no such key"}},
          follows("weights[q,k] = if k == " + word + " then 0 else " + rest));
}

/// The keys that the last row of weights sees.
double seen_keys(const Tensor& weights, const Tensor&) {
    double count = 0;
    const std::size_t keys = weights.shape().back();
    for (std::size_t i = weights.size() - keys; i < weights.size(); ++i) {
        count += weights.at(i) != 0 ? 1 : 0;
    }
    return count;
}

/// The first key that no row sees, though some should.
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

/// Made once for each number; what it hands out stays where it is.
template <void (*add)(std::vector<Mistake>&, double, const std::string&)>
const Mistake& made_once(double number) {
    static std::map<double, std::vector<Mistake>> all;
    std::vector<Mistake>& made = all[number];
    if (made.empty()) add(made, number, shortest_number(number));
    return made.front();
}

}  // namespace

const Mistake& finite_fill(double fill) { return made_once<filled_with>(fill); }
const Mistake& added_fill(double fill) { return made_once<added>(fill); }
const Mistake& mistaken_addition(double fill) { return made_once<wrongly_added>(fill); }
const Mistake& other_scale(double divisor) { return made_once<scaled_otherwise>(divisor); }
const Mistake& other_base(double base) { return made_once<turned_by_base>(base); }
const Mistake& query_offset(double tokens) { return made_once<rotated_too_far>(tokens); }
const Mistake& empty_slots(double number) { return made_once<slots_that_take_part>(number); }
const Mistake& other_window(double number) { return made_once<window_of>(number); }

namespace {

template <RunningSum how>
void summed_in_blocks(std::vector<Mistake>& list, double block, const std::string& word) {
    running_sum(list, how, block, word);
}

template <RunningSum... ways>
void add_running_sums(std::vector<NumberedEntry>& all) {
    const std::vector<double> blocks{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128};
    (all.push_back({.entry = made_once<summed_in_blocks<ways>>,
                    .starts = blocks,
                    .whole = true,
                    .nested = true}),
     ...);
}

}  // namespace

const std::vector<NumberedEntry>& numbered_entries() {
    const auto scale = [](const Plan& plan) { return 1 / effect_of(plan.scale); };
    const auto base = [](const Plan& plan) { return plan.config.rotary.theta; };
    const auto window = [](const Plan& plan) {
        return static_cast<double>(*plan.config.mask.window);
    };
    std::vector<double> windows(64), keys(64);
    std::iota(windows.begin(), windows.end(), 1);
    std::iota(keys.begin(), keys.end(), 0);
    static const std::vector<NumberedEntry> all = [&] {
        std::vector<NumberedEntry> list{
            {.entry = other_scale, .starts = {1, 0.2, 5}, .positive = true, .right = scale},
            {.entry = mistaken_fill, .starts = {-2, -8}},
            {.entry = mistaken_addition, .starts = {-1, -6}},
            {.entry = mistaken_addition, .starts = {1e4, 1e3, 100, 65504}, .whole = true},
            {.entry = other_base, .starts = {1000, 50000, 1e6}, .positive = true, .right = base},
            {.entry = empty_slots, .starts = {1, 10}, .positive = true},
            {.entry = query_offset, .starts = {-3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8}, .whole = true},
            {.entry = other_window,
             .starts = windows,
             .whole = true,
             .seen = seen_keys,
             .right = window},
            {.entry = made_once<weights_times>, .starts = {1}, .positive = true},
            {.entry = made_once<context_times>, .starts = {1}, .positive = true},
            {.entry = made_once<key_left_out<false>>,
             .starts = keys,
             .whole = true,
             .nested = true,
             .seen = unseen_key},
            {.entry = made_once<key_left_out<true>>,
             .starts = keys,
             .whole = true,
             .nested = true,
             .seen = unseen_key},
        };
        using enum RunningSum;
        add_running_sums<unrescaled, unrescaled_sum, unrescaled_output, upside_down,
                         upside_down_output, averaged, rest_left_out>(list);
        return list;
    }();
    return all;
}

const Mistake& mistaken_fill(double fill) {
    if (std::abs(fill) < 1e-3) {
        return find_mistake(fill == 0 ? "mask-times-zero" : "mask-tiny-fill");
    }
    return made_once<wrongly_filled>(fill);
}

}  // namespace attn
