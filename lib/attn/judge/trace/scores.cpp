#include "attn/judge/trace/scores.hpp"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr std::size_t far_back = 60;  // tensors between a form of query or key and the next one

double slack_of(const Traced& a, const Traced& b) {
    return 16 * std::max(unit_of(a.dtype), unit_of(b.dtype));
}

/// The number that every cell was multiplied by; nullopt if there is none.
std::optional<double> factor_between(const Traced& from, const Traced& to) {
    if (from.shape != to.shape) return std::nullopt;
    double largest = 0, factor = 0;
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        if (!std::isfinite(from.all[i]) || std::abs(from.all[i]) <= largest) continue;
        largest = std::abs(from.all[i]);
        factor = to.all[i] / from.all[i];
    }
    if (largest == 0 || !std::isfinite(factor) || factor == 0) return std::nullopt;
    const double slack = slack_of(from, to);
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const double expected = from.all[i] * factor;
        const bool is_same = same_number(expected, to.all[i]);
        if (!is_same && !(std::abs(expected - to.all[i]) <= slack * std::abs(expected))) {
            return std::nullopt;
        }
    }
    return factor;
}

bool is_about(double factor, double number) { return std::abs(factor - number) < 1e-5 * number; }

/// True if some cells are as before and all others are far below, or one and the same number.
bool is_masked(const Traced& from, const Traced& to) {
    if (from.shape != to.shape) return false;
    std::size_t kept = 0, changed = 0;
    std::optional<double> filled;
    bool is_one = true, is_low = true;
    const double slack = slack_of(from, to);
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const double a = from.all[i], b = to.all[i];
        if (same_number(a, b) || std::abs(a - b) <= slack * std::abs(a)) {
            ++kept;
            continue;
        }
        ++changed;
        is_one = is_one && (!filled || same_number(*filled, b));
        filled = b;
        is_low = is_low && b <= -100;
    }
    return kept > 0 && changed > 0 && (is_one || is_low);
}

/// True if every cell is exp of a cell less the largest of its row, or exp of the cell itself.
bool is_exponential(const Traced& from, const Traced& to, std::size_t axis) {
    if (from.shape != to.shape) return false;
    std::size_t step = 1;
    for (std::size_t i = axis + 1; i < from.rank(); ++i) step *= from.shape[i];
    const std::size_t length = from.shape[axis];
    bool is_plain = true, is_shifted = true;
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const std::size_t first = i - i / step % length * step;
        double top = -HUGE_VAL;
        for (std::size_t k = 0; k < length; ++k) top = std::max(top, from.all[first + k * step]);
        const auto is_exp = [&](double number) {
            return std::abs(to.all[i] - std::exp(number)) <= 1e-3 * std::exp(number) + 1e-12;
        };
        is_plain = is_plain && is_exp(from.all[i]);
        is_shifted = is_shifted && is_exp(from.all[i] - top);
    }
    return is_plain || is_shifted;
}

/// The bound of tanh that makes one of the other; 0 if there is none in use.
double cap_between(const Traced& from, const Traced& to) {
    for (const double cap : {50.0, 30.0, 20.0, 15.0, 10.0, 5.0, 2.0, 1.0}) {
        bool fits = from.shape == to.shape;
        for (std::size_t i = 0; i < from.all.size() && fits; ++i) {
            const double expected = cap * std::tanh(from.all[i] / cap);
            fits = std::abs(to.all[i] - expected) <= 64 * slack_of(from, to) * cap;
        }
        if (fits) return cap;
    }
    return 0;
}

/// True if the softmax along an axis of one is the other.
bool is_softmax(const Traced& from, const Traced& to, std::size_t axis) {
    std::size_t step = 1;
    for (std::size_t i = axis + 1; i < from.rank(); ++i) step *= from.shape[i];
    const std::size_t length = from.shape[axis];
    for (std::size_t i = 0; i < from.all.size(); ++i) {
        const std::size_t first = i - i / step % length * step;
        double sum = 0, top = -HUGE_VAL;
        for (std::size_t k = 0; k < length; ++k) top = std::max(top, from.all[first + k * step]);
        for (std::size_t k = 0; k < length; ++k) sum += std::exp(from.all[first + k * step] - top);
        const double expected = std::exp(from.all[i] - top) / sum;
        if (!(std::abs(to.all[i] - expected) <= 1e-3 * expected + 1e-6)) return false;
    }
    return true;
}

/// True if the weights are made of this tensor: by softmax, or once some of its cells are hidden.
bool leads_to_weights(const std::vector<Traced>& trace, const Core& core, std::size_t place) {
    const Traced& from = trace[place];
    for (std::size_t axis = 0; axis < from.rank(); ++axis) {
        if (is_softmax(from, trace[core.softmaxed], axis)) return true;
    }
    for (std::size_t i = place + 1; i < core.softmaxed; ++i) {
        if (trace[i].shape == from.shape && is_masked(from, trace[i])) return true;
    }
    return false;
}

/// What was added to each score, unless it is one number for each query, which changes no weight.
std::optional<Arranged> added_between(const Arranged& from, const Arranged& to) {
    Arranged added{to.shape, {}, to.dtype};
    const std::size_t keys = to.shape.back();
    bool is_a_row = true;
    for (std::size_t i = 0; i < to.all.size(); ++i) {
        added.all.push_back(to.all[i] - from.all[i]);
        if (!std::isfinite(added.all.back())) return std::nullopt;
        const double first = added.all[i / keys * keys];
        is_a_row = is_a_row && std::abs(added.all[i] - first) <= 1e-5 * (1 + std::abs(to.all[i]));
    }
    return is_a_row ? std::nullopt : std::optional(std::move(added));
}

}  // namespace

std::vector<ScoreStep> steps_of_scores(const std::vector<Traced>& trace, const Core& core,
                                       const std::vector<int>& axes, ScoreChanges& changes) {
    const Traced& product = trace[core.scores];
    Shape lengths;
    for (const int axis : axes) lengths.push_back(product.shape[static_cast<std::size_t>(axis)]);
    std::vector<ScoreStep> steps;
    const auto take = [&](const char* step, std::size_t place) {
        std::erase_if(steps, [&](const ScoreStep& each) { return each.step == step; });
        steps.push_back({step, place, arranged(trace[place], axes, lengths)});
    };
    const bool is_scaled = !is_about(core.product.factor, 1);
    take(is_scaled ? "scaled_scores" : "scores", core.scores);
    std::size_t last = core.scores;
    for (std::size_t i = core.scores + 1; i < core.softmaxed; ++i) {
        const Traced &from = trace[last], &to = trace[i];
        if (from.shape != to.shape || to.dtype == DType::boolean) continue;
        if (const std::optional<double> factor = factor_between(from, to)) {
            if (is_about(*factor, 1)) continue;
            const bool is_hidden = steps.back().step == "masked_scores";
            // Scaled after they were masked, they are masked and scaled from here on.
            if (is_hidden) steps.pop_back();
            take(is_hidden ? "masked_scores" : "scaled_scores", i);
        } else if (is_masked(from, to)) {
            take("masked_scores", i);
        } else if (is_exponential(from, to, core.key_axis)) {
            take("exponentials", i);
            continue;
        } else if (const double cap = cap_between(from, to)) {
            take("capped_scores", i);
            changes.softcap = cap;
        } else if (!leads_to_weights(trace, core, i)) {
            continue;
        } else if (auto added =
                       added_between(arranged(from, axes, lengths), arranged(to, axes, lengths))) {
            take("biased_scores", i);
            changes.added = std::move(added);
        } else {
            continue;
        }
        last = i;
    }
    // A softmax and a copy of it are one step; what is changed after it is the weights.
    std::size_t weights = core.weights;
    for (std::size_t i = core.softmaxed; i < weights; ++i) {
        if (trace[i].shape == trace[weights].shape && trace[i].all == trace[weights].all) {
            weights = i;
        }
    }
    take("weights", weights);
    return steps;
}

std::optional<Arranged> hidden_cells(const std::vector<ScoreStep>& steps) {
    const Arranged* shown = nullptr;
    bool are_weights = false;
    for (const ScoreStep& each : steps) {
        if (each.step == "masked_scores") shown = &each.numbers;
    }
    if (shown == nullptr && !steps.empty()) {
        shown = &steps.back().numbers;
        are_weights = true;
    }
    if (shown == nullptr) return std::nullopt;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const double number : shown->all) {
        if (std::isfinite(number)) {
            low = std::min(low, number);
            high = std::max(high, number);
        }
    }
    Arranged hidden{shown->shape, std::vector<double>(shown->all.size()), DType::boolean};
    bool any = false;
    for (std::size_t i = 0; i < hidden.all.size(); ++i) {
        const double number = shown->all[i];
        const bool is_hidden = are_weights ? number == 0 : number <= -100 && number < high - 50;
        hidden.all[i] = is_hidden;
        any = any || is_hidden;
    }
    return any ? std::optional(std::move(hidden)) : std::nullopt;
}

std::optional<Before> scaled_before(const std::vector<Traced>& trace, std::size_t place) {
    for (std::size_t i = place; i-- > 0 && place - i < far_back;) {
        const std::optional<double> factor = factor_between(trace[i], trace[place]);
        if (factor && !is_about(*factor, 1)) return Before{i, *factor};
    }
    return std::nullopt;
}

std::optional<Before> rotated_before(const std::vector<Traced>& trace, std::size_t place) {
    const Traced& to = trace[place];
    const std::size_t features = to.rank() == 0 ? 0 : to.shape.back(), half = features / 2;
    if (features < 2 || features % 2 != 0) return std::nullopt;
    const double slack = 64 * unit_of(to.dtype);
    for (std::size_t i = place; i-- > 0 && place - i < far_back;) {
        const Traced& from = trace[i];
        if (from.shape != to.shape || from.all == to.all) continue;
        for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
            bool keeps = true;
            for (std::size_t row = 0; row < to.all.size() && keeps; row += features) {
                for (std::size_t pair = 0; pair < half && keeps; ++pair) {
                    const bool apart = pairing == Pairing::half;
                    const std::size_t a = row + (apart ? pair : 2 * pair);
                    const std::size_t b = apart ? a + half : a + 1;
                    const double before = std::hypot(from.all[a], from.all[b]);
                    keeps = std::abs(std::hypot(to.all[a], to.all[b]) - before) <= slack * before;
                }
            }
            if (keeps) return Before{i, 1, pairing};
        }
    }
    return std::nullopt;
}

}  // namespace attn
