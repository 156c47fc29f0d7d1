#include "attn/judge/trace/scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

constexpr double most_of_hidden = -90;  // -100 was added to a score

/// Returns the factor between all cells; nullopt if there is none.
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

/// The cells that changed between two forms of the scores.
struct Changed {
    std::vector<double> cells;  ///< 1 where it changed
    bool is_one = true;         ///< all to one number
    bool is_low = true;         ///< all to numbers far below
    bool are_bits = true;       ///< by 1
};

Changed changed_cells(const std::vector<double>& from, const std::vector<double>& to,
                      double slack) {
    Changed changed{std::vector<double>(to.size())};
    std::optional<double> filled;
    for (std::size_t i = 0; i < to.size(); ++i) {
        const double a = from[i], b = to[i];
        if (same_number(a, b) || std::abs(a - b) <= slack * std::abs(a)) continue;
        changed.cells[i] = 1;
        changed.is_one = changed.is_one && same_number(filled.value_or(b), b);
        changed.is_low = changed.is_low && b <= most_of_hidden;
        changed.are_bits = changed.are_bits && std::abs(b - a - 1) <= 1e-3;
        filled = b;
    }
    return changed;
}

/// True if some cells are unchanged and all others are far below, or the same number.
bool is_masked(const Traced& from, const Traced& to) {
    if (from.shape != to.shape) return false;
    const Changed changed = changed_cells(from.all, to.all, slack_of(from, to));
    const auto all = std::ranges::count(changed.cells, 1);
    return all > 0 && all < std::ssize(to.all) && (changed.is_one || changed.is_low);
}

/// Returns the tanh bound that maps `from` to `to`, from a list of common ones; 0 if there is none.
double cap_between(const Traced& from, const Traced& to) {
    for (const double cap : {50.0, 30.0, 20.0, 15.0, 10.0, 5.0, 2.0, 1.0}) {
        bool fits = from.shape == to.shape;
        double changed = 0, left = 0;
        for (std::size_t i = 0; i < from.all.size() && fits; ++i) {
            const double expected = cap * std::tanh(from.all[i] / cap);
            fits = std::abs(to.all[i] - expected) <= 64 * slack_of(from, to) * cap;
            changed += std::abs(to.all[i] - from.all[i]);
            left += std::abs(to.all[i] - expected);
        }
        if (fits && left < changed / 8) return cap;
    }
    return 0;
}

/// True if the weights are computed from this tensor: by softmax, or after masking some cells.
bool leads_to_weights(const Trace& trace, const Core& core, std::size_t place) {
    const Traced& from = trace[place];
    for (std::size_t axis = 0; axis < from.rank(); ++axis) {
        if (is_softmax(from, trace[core.softmaxed], axis)) return true;
    }
    for (std::size_t i = place + 1; i < core.softmaxed; ++i) {
        if (trace[i].shape == from.shape && is_masked(from, trace[i])) return true;
    }
    return false;
}

/// Returns the addend of each score, unless it is one number per query, which changes no weight.
std::optional<Arranged> added_between(const Arranged& from, const Arranged& to) {
    Arranged added{to.shape, {}, to.dtype};
    const std::size_t keys = to.shape.back();
    bool is_a_row = true;
    const double share = std::max(1e-5, 4 * std::max(unit_of(from.dtype), unit_of(to.dtype)));
    for (std::size_t i = 0; i < to.all.size(); ++i) {
        added.all.push_back(to.all[i] - from.all[i]);
        if (!std::isfinite(added.all.back())) return std::nullopt;
        const double first = added.all[i / keys * keys];
        const double size = 1 + std::abs(to.all[i]) + std::abs(from.all[i]);
        is_a_row = is_a_row && std::abs(added.all[i] - first) <= share * size;
    }
    return is_a_row ? std::nullopt : std::optional(std::move(added));
}

/// True if some tensor of the trace was added to or subtracted from these scores. An addend that
/// was computed from the scores themselves is no bias. `is_mask` selects masks of 0 and 1, which
/// are none either.
bool has_addend(const Trace& trace, std::size_t from, std::size_t to, bool is_mask = false) {
    const std::vector<double>&before = trace[from].all, &after = trace[to].all;
    const double slack = slack_of(trace[from], trace[to]);
    for (std::size_t i = 0; i < to; ++i) {
        const Traced& each = trace[i];
        if (i == from || each.rank() > trace[to].rank()) continue;
        if (has_two_values(each) != is_mask) continue;
        const auto is_bit = [](double number) { return number == 0 || number == 1; };
        if (is_mask && !std::ranges::all_of(each.all, is_bit)) continue;
        if (i > from && has_name(each.name, trace[from].name)) continue;
        const std::size_t outer = trace[to].rank() - each.rank();
        const Shape strides = row_strides(each.shape);
        bool fits = true;
        for (std::size_t axis = 0; axis < each.rank(); ++axis) {
            const std::size_t length = each.shape[axis];
            fits = fits && (length == 1 || length == trace[to].shape[outer + axis]);
        }
        double sign = 0;
        for (std::size_t cell = 0; fits && cell < after.size(); ++cell) {
            const std::vector<std::size_t> at = indices_of(cell, trace[to].shape);
            std::size_t flat = 0;
            for (std::size_t axis = 0; axis < each.rank(); ++axis) {
                if (each.shape[axis] > 1) flat += at[outer + axis] * strides[axis];
            }
            const double added = after[cell] - before[cell], number = each.all[flat];
            const double bound = slack * (std::abs(after[cell]) + std::abs(before[cell]) + 1e-3);
            if (sign == 0 && std::abs(number) > bound) sign = number * added > 0 ? 1 : -1;
            fits = std::abs(added - sign * number) <= bound;
        }
        if (fits && sign != 0) return true;
    }
    return false;
}

}  // namespace

bool is_by_key(const Arranged& cells) {
    const std::size_t keys = cells.shape.back(), queries = cells.shape[cells.shape.size() - 2];
    for (std::size_t i = 0; i < cells.all.size(); ++i) {
        const std::size_t block = i / keys / queries * keys * queries;
        if (cells.all[i] != cells.all[block + i % keys]) return false;
    }
    return true;
}

std::vector<ScoreStep> steps_of_scores(const Trace& trace, const Core& core,
                                       const std::vector<int>& axes, ScoreChanges& changes) {
    const Traced& product = trace[core.scores];
    std::vector<ScoreStep> steps;
    const auto drop = [&](const std::string& step) {
        std::erase_if(steps, [&](const ScoreStep& each) { return each.step == step; });
    };
    std::size_t last = core.scores;
    const auto take = [&](const char* step, std::size_t place) {
        drop(step);
        std::size_t first = last + 1;  // the same numbers may have had another shape
        while (first < place && trace[first].all != trace[place].all) ++first;
        steps.push_back({step, std::min(first, place), arranged(trace[place], axes)});
    };
    const auto take_mask = [&](std::size_t place, const std::vector<double>& cells) {
        take("masked_scores", place);
        Traced changed = trace[place];
        changed.all = cells;
        changes.masks.emplace_back(steps.back().place, is_by_key(arranged(changed, axes)));
    };
    const bool is_hidden = std::ranges::any_of(product.all, is_hidden_score);
    changes.factor = core.product.factor;
    take(is_hidden                          ? "masked_scores"
         : is_about(core.product.factor, 1) ? "scores"
                                            : "scaled_scores",
         core.scores);
    double scaled = 1;
    std::optional<ScoreStep> uncapped;  // scaled before they were divided by a cap
    // A scaled form that the softmax does not read is not part of the attention.
    const bool is_direct = is_softmax(product, trace[core.softmaxed], core.key_axis);
    for (std::size_t i = core.scores + 1; i < core.softmaxed; ++i) {
        const Traced &from = trace[last], &to = trace[i];
        if (from.shape != to.shape || has_two_values(to)) continue;
        if (const std::optional<double> factor = factor_between(from, to)) {
            if (is_about(*factor, 1) || is_direct) continue;
            const std::string step = steps.back().step;
            if (step == "capped_scores") {  // cap * tanh(scores / cap), in three lines
                changes.softcap *= *factor;
                if (steps.size() > 1 && is_about(scaled * *factor, 1)) {
                    steps.erase(steps.end() - 2);
                    changes.factor /= scaled;
                    if (uncapped) steps.insert(steps.end() - 1, *std::move(uncapped));
                }
                take("capped_scores", i);
            } else if (step == "masked_scores") {
                // Scaled after masking: record both in the usual order.
                ScoreStep masked{"masked_scores", steps.back().place, arranged(trace[i], axes)};
                drop("masked_scores");
                drop("scaled_scores");
                changes.factor *= *factor;
                changes.beside.emplace_back(i, "scaled_scores");
                steps.push_back(std::move(masked));
                scaled = *factor;
                last = i;
                continue;
            } else {
                if (step == "scaled_scores") uncapped = steps.back();
                take("scaled_scores", i);
            }
            scaled = *factor;
            changes.factor *= step == "capped_scores" ? 1 : *factor;
        } else if (is_masked(from, to)) {
            take_mask(i, changed_cells(from.all, to.all, slack_of(from, to)).cells);
        } else if (is_exponential(from, to, core.key_axis)) {
            take("exponentials", i);
            continue;
        } else if (const double cap = cap_between(from, to)) {
            take("capped_scores", i);
            changes.softcap = cap;
        } else if (!leads_to_weights(trace, core, i) || is_lowered_by_top(from, to)) {
            continue;
        } else if (auto added = added_between(arranged(from, axes), arranged(to, axes))) {
            if (has_addend(trace, last, i, true)) {  // a mask of zeros and ones
                take("masked_scores", i);
                last = i;
                continue;
            }
            take("biased_scores", i);
            changes.added = std::move(added);
            if (!has_addend(trace, last, i)) changes.unexplained = i;
        } else {
            continue;
        }
        last = i;
    }
    // A softmax and its copy are one step; a tensor changed after it is the weights.
    std::size_t weights = core.weights;
    for (std::size_t i = core.softmaxed; i < weights; ++i) {
        if (trace[i].shape == trace[weights].shape && trace[i].all == trace[weights].all) {
            weights = i;
        }
    }
    changes.dropout = share_dropped(trace[core.softmaxed].all, trace[weights].all,
                                    4 * slack_of(trace[core.softmaxed], trace[weights]));
    take("weights", changes.dropout > 0 ? core.softmaxed : weights);
    if (changes.dropout > 0) take("dropped_weights", weights);
    return steps;
}

std::optional<Arranged> sink_of(const Trace& trace, const Core& core,
                                const std::vector<int>& axes) {
    const std::optional<std::size_t> softmax = softmax_with_sink(trace, core.softmaxed);
    if (!softmax) return std::nullopt;
    // Later tensors may have the largest score of each row subtracted.
    for (std::size_t i = core.scores; i < *softmax; ++i) {
        if (trace[i].shape != trace[*softmax].shape) continue;
        Traced column = trace[i];
        const std::size_t columns = column.shape.back();
        column.shape.back() = 1;
        column.all.clear();
        for (std::size_t cell = columns - 1; cell < trace[i].all.size(); cell += columns) {
            column.all.push_back(trace[i].all[cell]);
        }
        return arranged(column, axes);
    }
    return std::nullopt;
}

std::optional<Arranged> hidden_cells(const std::vector<ScoreStep>& steps) {
    if (steps.empty()) return std::nullopt;
    const auto masked = std::ranges::find(steps, "masked_scores", &ScoreStep::step);
    const bool are_weights = masked == steps.end();
    const bool drops = steps.back().step == "dropped_weights";
    const Arranged& shown =
        are_weights ? steps[steps.size() - (drops ? 2 : 1)].numbers : masked->numbers;
    Arranged hidden{shown.shape, std::vector<double>(shown.all.size()), DType::boolean};
    if (!are_weights && masked != steps.begin()) {
        const Arranged& before = std::prev(masked)->numbers;
        const double slack = 16 * std::max(unit_of(before.dtype), unit_of(shown.dtype));
        Changed changed = changed_cells(before.all, shown.all, slack);
        if (changed.is_one) hidden.all = std::move(changed.cells);
        if (changed.are_bits) {  // 0 or 1 was added: the last query sees the first key
            const std::size_t seen = shown.all.size() - shown.shape.back();
            const auto added = [&](std::size_t i) { return shown.all[i] - before.all[i]; };
            for (std::size_t i = 0; i < shown.all.size(); ++i) {
                hidden.all[i] = std::abs(added(i) - added(seen)) > 0.5;
            }
        }
    }
    if (std::ranges::count(hidden.all, 1) == 0) {
        double high = -HUGE_VAL;
        for (const double number : shown.all) {
            if (std::isfinite(number)) high = std::max(high, number);
        }
        std::ranges::transform(shown.all, hidden.all.begin(), [&](double number) {
            return are_weights ? number == 0 : number <= most_of_hidden && number < high - 50;
        });
    }
    const bool hides = std::ranges::count(hidden.all, 1) > 0;
    return hides ? std::optional(std::move(hidden)) : std::nullopt;
}

}  // namespace attn
