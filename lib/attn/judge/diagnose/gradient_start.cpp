#include "attn/judge/diagnose/gradient_search.hpp"

#include <algorithm>

#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/number_text.hpp"

// Start of the backward pass: one of the user's gradients, or an inferred loss.

namespace attn {
namespace {

/// True if no mistake in the scores reaches it.
bool is_of_values(const UserGradient& actual) {
    const std::string& step = actual.steps.front();
    return step == "d_weights" || step.ends_with("value") || step.ends_with("output");
}

}  // namespace

void GradientSearch::find_chance() {
    const WalkConfig& config = way_.plan.config;
    const bool takes = requested_.options.takes_projections;
    if (!takes && config.parameters.entries().empty()) return;
    for (const DrawnTensor& row : draw_list(way_.plan)) {
        const bool is_side = row.name == "query" || row.name == "key" || row.name == "value";
        const bool is_specified = row.given_source != nullptr || config.parameters.has(row.name) ||
                                  row.name.empty() || (takes && is_side);
        const bool counts = takes || (way_.has(row.name) && find_step(way_.table, row.name).kind ==
                                                                Step::Kind::parameter);
        if (!is_specified && counts) unknown_.insert(row.name);
    }
}

bool GradientSearch::begin() {
    if (requested_.loss) {
        way_.perturb(user_gradients_);
        return true;
    }
    const std::vector<BackwardStart> given = given_starts();
    if (!given.empty() && given.front().step == last_) {
        take_best(given);
        if (!user_gradients_.has(last_)) begin_before_last();
        return true;
    }
    const std::vector<BackwardStart> all = starts_of_losses();
    if (!given.empty()) {
        // A loss that explains all gradients is better evidence than a gradient in the middle.
        if (take_best(all) &&
            count_right(way_.gradients(way_.table, user_gradients_)) == actual_.size()) {
            return true;
        }
        unknown_.insert(last_);
        take_best(given);
        return true;
    }
    if (take_best(all)) return true;
    for (const BackwardStart& start : all) {
        if (!start.usual) continue;
        take(start);
        const bool is_sum = &start == &all.front();
        if ((is_sum || actual_.size() > 1) && explained_together()) return true;
    }
    return take_a_multiple(all);
}

/// With as many heads as tokens, the gradient is that of a step before the last one.
void GradientSearch::begin_before_last() {
    unknown_.insert(last_);
    for (UserGradient& each : actual_) {
        if (each.steps.size() == 1 || each.steps.front() != last_) continue;
        each.steps.erase(each.steps.begin());
        std::replace(result_.compared.begin(), result_.compared.end(), last_, each.steps.front());
    }
}

void GradientSearch::take(const BackwardStart& start) {
    user_gradients_ = Ledger();
    user_gradients_.record(start.step,
                           mapped(start.tensor, [&](double cell) { return cell * start.factor; }));
    way_.perturb(user_gradients_);
    result_.assumed = start.words;
    result_.used = start.other;
}

bool GradientSearch::take_best(const std::vector<BackwardStart>& all) {
    std::size_t most = 0;
    const BackwardStart* best = &all.front();
    const Tensor::Values* before = nullptr;
    Ledger correct;
    double by = 1;
    for (const BackwardStart& each : all) {
        if (&each.tensor.values() != before) {
            take(each);
            correct = way_.gradients(way_.table, user_gradients_);
            before = &each.tensor.values();
            by = each.factor;
        }
        std::size_t count = 0, values = 0;
        for (const UserGradient& actual : actual_) {
            if (!right(actual, correct, each.factor / by)) continue;
            ++count;
            if (is_of_values(actual)) ++values;
        }
        if (!each.usual && values == 0) continue;
        const std::size_t worth = count + actual_.size() * values;
        if (worth <= most) continue;
        most = worth;
        best = &each;
    }
    take(*best);
    return most > 0;
}

std::vector<BackwardStart> GradientSearch::given_starts() const {
    std::vector<BackwardStart> all;
    for (const Step& step : way_.table) {
        const bool is_result = step.applies(way_.plan) && step.name.starts_with("d_") &&
                               find_step(way_.table, step.gradient_of).chain == Chain::contexts;
        if (!is_result) continue;
        const Outline outline = step.outline(way_.plan);
        for (const UserGradient& each : actual_) {
            const Step& likeliest = find_step(way_.table, each.steps.front());
            const bool may_be =
                std::ranges::count(each.steps, step.name) > 0 && likeliest.name != "row_dot" &&
                find_step(way_.table, likeliest.gradient_of).chain == Chain::contexts;
            if (!may_be) continue;
            for (Reading& way :
                 readings(each.tensor, outline.axes, outline.shape, DType::float64)) {
                all.push_back({"", step.name, std::move(way.tensor)});
            }
        }
    }
    return all;
}

std::vector<BackwardStart> GradientSearch::starts_of_losses() const {
    const std::string last = last_.substr(2);
    const Ledger correct = way_.gradients(way_.table, Ledger());
    const Tensor out = correct[last];
    const auto cells = static_cast<double>(out.size());
    const auto samples = static_cast<double>(way_.plan.batch);
    std::vector<BackwardStart> all;
    const auto add = [&](const std::string& of, const std::string& other, double power,
                         const auto& cell) {
        const Tensor tensor = tensor_like(out, [&](std::size_t i) { return power * cell(i); });
        all.push_back({"the sum of " + of, last_, tensor, 1, true, other});
        all.push_back({"the mean of " + of, last_, tensor, 1 / cells, true, other});
        all.push_back({"half the sum of " + of, last_, tensor, 0.5, false, other});
        all.push_back({"half the mean of " + of, last_, tensor, 0.5 / cells, false, other});
        if (samples == 1) return;
        const std::string each = "the sum of " + of + ", divided by the samples";
        all.push_back({each, last_, tensor, 1 / samples, false, other});
    };
    add(last, "", 1, [](std::size_t) { return 1.0; });
    add("the squares of " + last, "", 2, [&](std::size_t i) { return out.at(i); });
    for (const auto& [name, tensor] : others_.entries()) {
        for (const Reading& way : readings(tensor, out)) {
            const Tensor& given = way.tensor;
            add(last + " times " + name, name, 1, [&](std::size_t i) { return given.at(i); });
            add("the squares of " + last + " - " + name, name, 2,
                [&](std::size_t i) { return out.at(i) - given.at(i); });
        }
    }
    all.front().words = "";
    return all;
}

bool GradientSearch::take_a_multiple(const std::vector<BackwardStart>& all) {
    if (actual_.size() < 2 || !std::ranges::any_of(actual_, is_of_values)) return false;
    for (const BackwardStart& start : all) {
        if (!start.usual) continue;
        take(start);
        const Ledger correct = way_.gradients(way_.table, user_gradients_);
        for (const UserGradient& each : actual_) {
            const Tensor* of = correct.find(each.steps.front());
            if (of == nullptr) continue;
            const std::vector<Reading> read = ways(each, each.steps.front(), *of);
            const auto ratio = read.empty() ? std::nullopt : ratio_between(read[0].tensor, *of);
            if (!ratio || count_right(correct, *ratio) < actual_.size()) continue;
            BackwardStart scaled = start;
            scaled.factor *= *ratio;
            scaled.words = brief(*ratio) + " times " +
                           (start.words.empty() ? "the sum of " + last_.substr(2) : start.words);
            take(scaled);
            result_.open = true;
            return true;
        }
    }
    return false;
}

}  // namespace attn
