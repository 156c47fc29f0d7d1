#include <algorithm>
#include <cmath>

#include "attn/judge/diagnose/search.hpp"

// One tensor, with those before and after it.

namespace attn {

namespace {

/// True if each row of two tensors differs by a constant, to within `near`.
bool has_shifted_rows(const Tensor& tensor, const Tensor& expected, double near) {
    if (tensor.shape() != expected.shape() || tensor.dimension() == 0) return false;
    const std::size_t columns = tensor.shape().back();
    double least = HUGE_VAL, most = -HUGE_VAL, lowest = HUGE_VAL;
    each_number(expected, [&](std::size_t, double cell) {
        if (std::isfinite(cell)) lowest = std::min(lowest, cell);
    });
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        // exp() of less is 0 in every type of 32 bits or fewer.
        if (expected.at(i) == -HUGE_VAL && tensor.at(i) < lowest - 110) continue;
        if (i % columns == 0) least = HUGE_VAL, most = -HUGE_VAL;
        if (same_number(tensor.at(i), expected.at(i)) && !std::isfinite(tensor.at(i))) continue;
        const double distance = tensor.at(i) - expected.at(i);
        least = std::min(least, distance);
        most = std::max(most, distance);
        if (!(most - least <= near)) return false;
    }
    return true;
}

}  // namespace

std::size_t explained_by(Replay replay, const Judge& judge, std::span<const UserTensor> later) {
    std::size_t count = 0;
    const auto explains = [&](const UserTensor& actual) {
        for (const std::string& step : actual.steps) {
            const Tensor* local = replay.step(step);
            if (local == nullptr) continue;
            for (Reading& reading : readings(actual.tensor, *local)) {
                if (!judge(step, actual, reading.tensor, *local, true).right()) continue;
                replay.take(step, std::move(reading.tensor));
                return true;
            }
        }
        return false;
    };
    for (const UserTensor& actual : later) {
        if (actual.steps.front() == "mask" || actual.aside) continue;
        if (!explains(actual)) break;
        ++count;
    }
    return count;
}

std::size_t count_explained(Replay replay, const Mistake* mistake, const std::string& step,
                            const Tensor& tensor, const Judge& judge,
                            std::span<const UserTensor> later) {
    if (mistake != nullptr) replay.make(*mistake);
    const Tensor* correct = replay.step(step);
    const bool fits = correct != nullptr && correct->shape() == tensor.shape();
    if (fits || mistake == nullptr) replay.take(step, tensor);
    return explained_by(std::move(replay), judge, later);
}

std::vector<Reading> Scene::ways(const Tensor& like) const {
    std::vector<Reading> all = readings(actual.tensor, like);
    if (actual.tensor.shape() == like.shape()) all.resize(1);
    return all;
}

bool Scene::gives_same_weights(const Tensor& tensor, bool is_user_tensor) const {
    // If a later tensor of the user is in the chain, softmax reads that one.
    const StepTable& table = kept_table(about.plan);
    for (std::size_t i = place_of(table, step) + 1; i < table.size(); ++i) {
        if ((table[i].chain == Chain::scores) && replay.is_given(table[i].name)) return false;
    }
    Replay other = replay;
    other.take(step, tensor);
    const Tensor* result = other.step("weights");
    const Tensor* correct = replay.step("weights");
    const UserTensor& judged_as = is_user_tensor ? actual : UserTensor{};
    if (result == nullptr || correct == nullptr ||
        !judge("weights", judged_as, *result, *correct, true).right()) {
        return false;
    }
    // With few decimals the tolerance of the weights is wide: then rows must differ by a constant,
    // too.
    constexpr double wide = 1e-4;
    return judge.tolerance("weights", actual, *correct, true).absolute <= wide ||
           has_shifted_rows(tensor, expected,
                            2 * judge.tolerance(step, actual, expected, true).absolute);
}

bool Scene::explains_most(const Tensor& tensor, const Tensor& result) const {
    const bool may_hide = judge.rounding(actual, result).is_half && !judge.ignores_hidden();
    if (!may_hide || result.shape() != expected.shape()) return true;
    return share_left(tensor, result) <= (judge.guesses(actual) ? 0.01 : 0.25);
}

double Scene::share_left(const Tensor& tensor, const Tensor& result) const {
    /// Squares of the distances from `result` and from the right numbers.
    struct Distances {
        double left = 0, all = 0;
        double share() const { return all == 0 ? HUGE_VAL : left / all; }
    };
    Distances cells, zeros;
    bool makes_infinity = false;
    each_number(tensor, [&](std::size_t i, double cell) {
        const double here = cell - result.at(i), before = cell - expected.at(i);
        if (!std::isfinite(here) || !std::isfinite(before)) {
            const bool is_same = same_number(cell, result.at(i)) || std::isfinite(here);
            makes_infinity = makes_infinity || (is_same && !same_number(cell, expected.at(i)));
            return;
        }
        for (Distances* each : {&cells, &zeros}) {
            if (each == &zeros && expected.at(i) != 0) continue;
            each->left += here * here;
            each->all += before * before;
        }
    });
    if (makes_infinity) return 0;
    // Rounding leaves an exact 0, so a mistake shows there even if larger numbers hide it.
    return cells.left <= 1.1 * cells.all ? std::min(cells.share(), zeros.share()) : cells.share();
}

Match Scene::match_of(const Mistake& mistake, Reading reading, double difference) const {
    Match match;
    match.finding.step = step;
    match.finding.add(Role::makes, &mistake);
    match.finding.difference = difference;
    match.finding.evidence = evidence_of(step, reading.tensor, expected);
    if (actual.epsilon != 0 && (is_scores(about.plan, step) || kept_step(step) != nullptr)) {
        const auto result = replay.step_with({&mistake}, step);
        const bool is_harmless =
            std::ranges::count(harmless_differences(), mistake.id, &Mistake::id) > 0;
        match.finding.changes_weights =
            !is_harmless && result && result->shape() == expected.shape() &&
            (kept_step(step) != nullptr || !gives_same_weights(*result, false));
    }
    match.reading = std::move(reading);
    return match;
}

Match Scene::written_otherwise(const char* id, Reading reading) const {
    Match match = match_of(find_mistake(id), std::move(reading), 0);
    match.finding.harmless = true;
    match.finding.replayed = false;
    return match;
}

}  // namespace attn
