// Mistakes with a number: a fill of hidden scores in place of minus infinity, a scale, a base, an
// offset.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/diagnose/search.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

/// One step of Newton's method towards the number that fits best: `near` is the tensor for the
/// current number, `next` for that number plus `more`.
struct Newton {
    double step = 0;
    double distance = 0;
    double error = 0;  ///< the standard error of the step, from the residual

    Newton(const Tensor& actual, const Tensor& near, const Tensor& next, double more) {
        double along = 0, slope = 0, count = 0;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            const double missing = actual.at(i) - near.at(i);
            const double change = (next.at(i) - near.at(i)) / more;
            if (!std::isfinite(missing) || !std::isfinite(change)) continue;
            distance += missing * missing;
            along += missing * change;
            slope += change * change;
            ++count;
        }
        step = slope > 0 ? along / slope : nowhere;
        const double left = std::max(distance - step * along, 0.0);
        error = count > 1 ? std::sqrt(left / (count - 1) / slope) : nowhere;
    }
};

/// Returns `tensor` with -inf in the cells that `hidden` marks.
Tensor with_infinity(const Tensor& tensor, const std::vector<bool>& hidden) {
    return mapped(tensor, [&, i = std::size_t{0}](double cell) mutable {
        return hidden[i++] ? -HUGE_VAL : cell;
    });
}

/// True if each row is that of the other plus a constant, and hidden cells are hidden in both.
bool differ_by_rows(const Tensor& actual, const Tensor& expected) {
    const std::size_t keys = expected.shape().back();
    for (std::size_t row = 0; row < expected.size(); row += keys) {
        std::optional<double> shift;
        for (std::size_t i = row; i < row + keys; ++i) {
            if (std::isfinite(expected.at(i)) != (actual.at(i) > -1e4)) return false;
            if (!std::isfinite(expected.at(i))) continue;
            const double more = actual.at(i) - expected.at(i);
            if (std::abs(more - shift.value_or(more)) > 1e-4 * (1 + std::abs(more))) return false;
            shift = more;
        }
    }
    return true;
}

/// Returns the user's scores without the constants that softmax cancels: the mean difference of
/// each row's visible cells.
Tensor without_shifts(const Tensor& actual, const Tensor& expected) {
    Array<double> cells = cast(actual, DType::float64).as<double>();
    const std::size_t keys = expected.shape().back();
    for (std::size_t row = 0; row < expected.size(); row += keys) {
        double sum = 0, count = 0;
        for (std::size_t i = row; i < row + keys; ++i) {
            const double more = cells.data()[i] - expected.at(i);
            if (!std::isfinite(more)) continue;
            sum += more;
            ++count;
        }
        for (std::size_t i = row; count > 0 && i < row + keys; ++i) cells.data()[i] -= sum / count;
    }
    return cast({actual.axes(), std::move(cells)}, actual.dtype());
}

/// Names the content of hidden cells: one number, or the scores plus one number; nullptr otherwise.
const Mistake* name_of_fill(const Scene& scene, const Tensor& actual,
                            const std::vector<bool>& hidden, bool harmless) {
    const StepTable& table = kept_table(scene.about.plan);
    const PlannedStep masked{scene.about.plan, table, find_step(table, "masked_scores")};
    const Tensor* scores = scene.replay.step(masked.latest(Chain::scores));
    std::optional<double> fill, added;
    bool one_fill = true, one_added = true;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (!hidden[i]) continue;
        const double cell = actual.at(i);
        if (!std::isfinite(cell)) return nullptr;
        const double more = cell - scores->at(i);
        fill = fill.value_or(cell);
        added = added.value_or(more);
        one_fill = one_fill && cell == *fill;
        one_added = one_added && std::abs(more - *added) <= 1e-4 * (std::abs(*added) + 1);
    }
    if (!fill) return nullptr;
    if (one_fill) return harmless ? &finite_fill(*fill) : &mistaken_fill(*fill);
    if (!one_added) return nullptr;
    // Rounding makes the sum inexact, but the number that was added has few digits.
    const double number = std::stod(brief(*added));
    return harmless ? &added_fill(number) : &mistaken_addition(number);
}

/// Any other number in every hidden cell is judged by the weights that it gives.
std::optional<Match> one_fill(const Scene& scene, const Reading& reading) {
    std::vector<bool> hidden(scene.expected.size());
    for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = scene.expected.at(i) == -HUGE_VAL;
    const Tensor visible = with_infinity(reading.tensor, hidden);
    const Judged answer = scene.judged_as(visible, scene.expected);
    if (!answer.right()) return std::nullopt;
    const bool harmless = scene.gives_same_weights(reading.tensor);
    const Mistake* fill = name_of_fill(scene, reading.tensor, hidden, harmless);
    if (fill == nullptr) return std::nullopt;
    Match match = scene.match_of(*fill, reading, answer.difference);
    match.finding.harmless = harmless;
    return match;
}

/// Rounds to that number of significant digits.
double rounded_to(double number, int digits) {
    return std::stod(fmt::format("{:.{}g}", number, digits));
}

/// Returns the number for which an entry makes the user's tensor, or comes closest to it.
double read_off(const NumberedEntry& family, double start, Replay& replay, const Tensor& actual,
                const std::string& step) {
    if (family.whole) return start;
    const auto number = [&](double at) { return family.positive ? std::exp(at) : at; };
    double at = family.positive ? std::log(start) : start;
    double before = HUGE_VAL;
    // The step must show even if the walk itself is stored in 16 bits.
    const Tensor* const correct = replay.step(step);
    const bool is_half = correct != nullptr && is_16_bit(correct->dtype());
    const double share = is_half ? 0.1 : 1e-3;
    for (int tries = 0; tries < 12; ++tries) {
        const double more = share * std::max(1.0, std::abs(at));
        const auto near = replay.step_with({&family.entry(number(at))}, step);
        const auto next = replay.step_with({&family.entry(number(at + more))}, step);
        if (!near || !next || near->shape() != actual.shape()) return nowhere;
        const Newton newton(actual, *near, *next, more);
        if (!std::isfinite(newton.step)) return nowhere;
        at += std::clamp(newton.step, -2.0, 2.0);
        if (std::abs(newton.step) < 1e-6 * std::max(1.0, std::abs(at))) break;
        if (tries > 3 && newton.distance > 0.5 * before) {
            if (is_half) break;
            return nowhere;
        }
        before = newton.distance;
    }
    return number(at);
}

}  // namespace

/// Accepts any numbers so low that their exponentials are 0 as -inf.
std::optional<Match> far_below(const Scene& scene, const Reading& reading, double most) {
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scene.expected.size(); ++i) {
        const double cell = scene.expected.at(i);
        if (std::isfinite(cell)) lowest = std::min(lowest, cell);
    }
    // exp() of less is 0 in every type.
    const double floor = lowest - (scene.expected.dtype() == DType::float64 ? 750 : 110);
    const Tensor& tensor = reading.tensor;
    std::vector<bool> hidden(tensor.size());
    for (std::size_t i = 0; i < tensor.size(); ++i) hidden[i] = tensor.at(i) <= floor;
    const Mistake* fill = name_of_fill(scene, tensor, hidden, true);
    if (fill == nullptr) return std::nullopt;
    UserTensor read = scene.actual;
    read.tensor = with_infinity(tensor, hidden);
    const Judged answer = scene.judged_as(read.tensor, scene.expected);
    if (answer.right()) {
        const Mistake& empty_row = find_mistake("fully-masked-row");
        const bool uniform =
            !scene.gives_same_weights(tensor) && empty_row.applies(scene.about.plan);
        Match match = scene.match_of(uniform ? empty_row : *fill, reading, answer.difference);
        match.finding.harmless = !uniform;
        match.finding.evidence = {fill->title.visible()};
        return match;
    }
    std::optional<Match> match = searched(scene.with(read, scene.replay), most).match;
    if (!match) return std::nullopt;
    match->finding.add(Role::beside, fill);
    match->reading = reading;
    return match;
}

std::optional<Match> otherwise_filled(const Scene& scene) {
    if (!is_scores(scene.about.plan, scene.step)) return std::nullopt;
    return scene.first_of([&](const Reading& reading) -> std::optional<Match> {
        if (scene.step == "masked_scores") {
            if (std::optional<Match> match = far_below(scene, reading, cost::mistake)) return match;
            if (std::optional<Match> match = one_fill(scene, reading)) return match;
        }
        const bool beside_sink = scene.about.plan.has_sink() && !reading.layout.empty() &&
                                 differ_by_rows(reading.tensor, scene.expected);
        // Weights in 16 bits hide some errors in scores.
        const auto is_right = [&] {
            return scene.gives_same_weights(reading.tensor) &&
                   (scene.judge.epsilon_of(scene.actual) == 0 ||
                    scene.judged_as(without_shifts(reading.tensor, scene.expected), scene.expected)
                        .right());
        };
        if (!beside_sink && !is_right()) return std::nullopt;
        return scene.written_otherwise("same-after-softmax", reading);
    });
}

std::optional<Match> numbered(const Scene& scene) {
    const Plan& plan = scene.about.plan;
    Replay& replay = scene.replay;
    const auto match = [&](const Reading& reading, const NumberedEntry& family,
                           double number) -> std::optional<Match> {
        if (std::abs(number) > 1e6) return std::nullopt;
        const Mistake& mistake = family.entry(number);
        if (!mistake.applies(plan)) return std::nullopt;
        const auto wrong = replay.step_with({&mistake}, scene.step);
        if (!wrong || same_cells(*wrong, scene.expected)) return std::nullopt;
        const Judged answer = scene.judged_as(reading.tensor, *wrong);
        if (!answer.right() || !scene.explains_most(reading.tensor, *wrong)) return std::nullopt;
        Match found = scene.match_of(mistake, reading, answer.difference);
        if (family.right == nullptr && number != 0) {
            const auto more = replay.step_with({&family.entry(2 * number)}, scene.step);
            if (more && scene.judged_as(reading.tensor, *more).right()) {
                found.finding.evidence.push_back("any number beyond " + brief(number) +
                                                 " makes the same tensor");
            }
        }
        if (family.right != nullptr) {
            found.finding.evidence.push_back("the number is " + brief(number) +
                                             " where it should be " + brief(family.right(plan)));
        }
        return found;
    };
    for (const Reading& reading : scene.ways(scene.expected)) {
        for (const NumberedEntry& family : numbered_entries()) {
            const bool is_long = std::max(plan.query_len, plan.key_len) > 64;
            std::vector<double> starts = family.starts;
            if (family.nested && (is_long || !is_result_step(plan, scene.step))) starts.clear();
            if (family.seen != nullptr && scene.step == "weights") {
                starts.push_back(family.seen(reading.tensor, scene.expected));
            }
            for (const double start : starts) {
                if (!family.entry(start).applies(plan)) continue;
                const double exact = read_off(family, start, replay, reading.tensor, scene.step);
                if (!std::isfinite(exact)) continue;
                // People write few digits, and 16 bits have few.
                double before = nowhere;
                for (const double candidate : {rounded_to(exact, 3), rounded_to(exact, 4), exact}) {
                    if (candidate == before) continue;
                    if (auto found = match(reading, family, candidate)) return found;
                    before = candidate;
                }
            }
        }
    }
    return std::nullopt;
}

std::optional<Match> rescaled(const Scene& scene, const Reading& reading) {
    const Plan& plan = scene.about.plan;
    const Rounding rounding = scene.judge.rounding(scene.actual, scene.expected);
    if (!plan.scales() || !rounding.is_half) return std::nullopt;
    const double right = 1 / effect_of(plan.scale);
    const auto moved_to = [&](double divisor) -> std::optional<Newton> {
        constexpr double more = 0.2;  // large enough to show in 16 bits
        const auto near = scene.replay.step_with({&other_scale(divisor)}, scene.step);
        const auto next =
            scene.replay.step_with({&other_scale(divisor * std::exp(more))}, scene.step);
        if (!near || !next || near->shape() != reading.tensor.shape()) return std::nullopt;
        return Newton(reading.tensor, *near, *next, more);
    };
    // Two constants may have been rounded: the scale and that of exp2.
    const auto is_none = [&](const std::optional<Newton>& newton, double move) {
        constexpr double deviations = 8;
        return !newton ||
               !(std::abs(move) > std::max(2 * rounding.unit, deviations * newton->error));
    };
    const std::optional<Newton> first = moved_to(right);
    if (is_none(first, first ? first->step : 0)) return std::nullopt;
    double divisor = right;
    std::optional<Newton> newton = first;
    for (int tries = 0; tries < 4 && newton; ++tries) {
        divisor *= std::exp(std::clamp(newton->step, -0.5, 0.5));
        newton = moved_to(divisor);
    }
    if (is_none(newton, std::log(divisor / right))) return std::nullopt;
    const Mistake& mistake = other_scale(std::stod(brief(divisor)));
    const auto wrong = scene.replay.step_with({&mistake}, scene.step);
    const bool is_loose = scene.judge.guesses(scene.actual);
    if (is_loose && !scene.explains_most(reading.tensor, *wrong)) return std::nullopt;
    Match match =
        scene.match_of(mistake, reading, scene.judged_as(reading.tensor, *wrong).difference);
    match.finding.evidence.push_back("all cells together: the scores are " +
                                     brief(right / divisor) + " times what they should be, +- " +
                                     brief(newton->error));
    return match;
}

}  // namespace attn
