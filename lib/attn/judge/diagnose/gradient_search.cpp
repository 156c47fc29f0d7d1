#include "attn/judge/diagnose/gradient_search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/diagnose/search.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"

namespace attn {

GradientDiagnosis GradientSearch::best() {
    for (const UserGradient& each : actual_) result_.compared.push_back(each.steps.front());
    leave_out_unknown();
    if (actual_.empty()) return std::move(result_);
    if (!begin()) {
        // Only gradients that follow from other gradients of the user can be judged.
        result_.open = true;
        result_.assumed.clear();
        unknown_.insert(last_);
        user_gradients_ = Ledger();
        one_by_one(way_.gradients(way_.table, user_gradients_), true);
        return std::move(result_);
    }
    leave_out_unknown();
    const Ledger correct = way_.gradients(way_.table, user_gradients_);
    for (const UserGradient& each : actual_) {
        if (!right(each, correct)) result_.wrong.push_back(each.steps.front());
    }
    if (!result_.wrong.empty() && !explained_together()) one_by_one(correct, false);
    return std::move(result_);
}

std::string GradientSearch::last_of(Chain chain) const {
    std::string name;
    for (const Step& step : way_.table) {
        if (step.applies(way_.plan) && step.chain == chain) name = step.name;
    }
    return name;
}

std::string GradientSearch::missing_input(const std::string& name,
                                          std::set<std::string>&& seen) const {
    if (user_gradients_.has(name) || !seen.insert(name).second) return {};
    if (unknown_.contains(name)) return name;
    const bool is_gradient = name.starts_with("d_") || name == "row_dot";
    if ((!is_gradient && requested_.forward.read.has(name)) || !way_.has(name)) return {};
    const Step& step = find_step(way_.table, name);
    for (const Input& input : step.reads(way_.plan)) {
        const std::string of = PlannedStep{way_.plan, way_.table, step}.name_of(input);
        std::string found = missing_input(of, std::move(seen));
        if (!found.empty()) return found;
    }
    return {};
}

void GradientSearch::leave_out_unknown() {
    std::erase_if(actual_, [&](const UserGradient& each) {
        const std::string missing = missing_input(each.steps.front());
        if (!missing.empty()) skip(each, missing);
        return !missing.empty();
    });
}

void GradientSearch::skip(const UserGradient& each, const std::string& missing) {
    const bool is_loss = missing == last_;
    result_.skipped.push_back({each.name, is_loss
                                              ? "it needs the gradient of " + missing.substr(2)
                                              : "there is no " + missing + " to compute it with"});
    std::erase(result_.compared, each.steps.front());
}

std::optional<Reading> GradientSearch::as(const UserGradient& actual, const std::string& step,
                                          const Ledger& correct, double factor) const {
    const Tensor* tensor = correct.find(step);
    if (tensor == nullptr) return std::nullopt;
    for (Reading& reading : ways(actual, step, *tensor)) {
        if (is_near(actual, step, reading.tensor, *tensor, factor)) return std::move(reading);
    }
    return std::nullopt;
}

std::vector<Reading> GradientSearch::ways(const UserGradient& actual, const std::string& step,
                                          const Tensor& correct) {
    std::vector<Reading> all = readings(actual.tensor, correct);
    if (step.starts_with("d_w_")) {
        // A parameter has one layout: its transpose is a mistake.
        std::erase_if(all, [](const Reading& each) { return !each.layout.empty(); });
    } else if (!actual.may_be_transposed && actual.tensor.shape() == correct.shape()) {
        all.resize(1);
    }
    return all;
}

bool GradientSearch::is_near(const UserGradient& actual, const std::string& step,
                             const Tensor& tensor, const Tensor& correct, double factor) const {
    Tolerance allowed{way_.noise(step) * std::abs(factor) * actual.epsilon, 8 * actual.epsilon};
    if (requested_.options.tolerance) allowed = *requested_.options.tolerance;
    if (requested_.options.decimals) {
        allowed.absolute += std::pow(10.0, -*requested_.options.decimals) *
                            (1 + way_.noise(step) * std::abs(factor) / 40);
    }
    for (std::size_t i = 0; i < correct.size(); ++i) {
        const double a = tensor.at(i), b = factor * correct.at(i);
        const double most = allowed.absolute + allowed.relative * std::abs(b);
        if (!same_number(a, b) && !(std::abs(a - b) <= most)) return false;
    }
    return true;
}

std::optional<std::pair<std::string, Reading>> GradientSearch::right(const UserGradient& actual,
                                                                     const Ledger& correct,
                                                                     double factor) const {
    for (const std::string& step : actual.steps) {
        if (auto reading = as(actual, step, correct, factor)) return {{step, *reading}};
    }
    // Scores in units of log2, as exp2 takes them.
    for (const std::string& step : actual.steps) {
        if (!step.ends_with("scores")) continue;
        if (auto reading = as(actual, step, correct, factor * std::numbers::ln2)) {
            const Tensor all = cast(reading->tensor, DType::float64);
            return {
                {step,
                 {mapped(all, [](double cell) { return cell / std::numbers::ln2; }), "in log2"}}};
        }
    }
    return std::nullopt;
}

std::size_t GradientSearch::count_right(const Ledger& correct, double factor) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        actual_, [&](const auto& each) { return right(each, correct, factor).has_value(); }));
}

Ledger GradientSearch::with(const Mistakes& computed, StepTable table,
                            const Ledger& user_gradients) const {
    for (const Mistake* mistake : computed) table = mistake->apply(std::move(table), way_.plan);
    return way_.gradients(table, user_gradients);
}

std::vector<GradientSearch::Mistakes> GradientSearch::mistake_sets(std::size_t count) const {
    std::vector<Mistakes> all;
    const std::vector<Mistake>& known = gradient_mistakes();
    for (std::size_t i = 0; i < known.size(); ++i) {
        const auto is_in_table = [&](const Step& step) {
            return step.mistake_ids.find(known[i].id) != std::string::npos;
        };
        if (std::ranges::none_of(known[i].apply(way_.table, way_.plan), is_in_table)) continue;
        if (count == 1) all.push_back({&known[i]});
        for (std::size_t j = i + 1; count == 2 && j < known.size(); ++j) {
            all.push_back({&known[i], &known[j]});
        }
    }
    return all;
}

bool GradientSearch::explained_together() {
    GradientFinding found;
    for (const std::size_t count : {1U, 2U}) {
        if (count == 2 && (!requested_.options.pairs || found.mistake() != nullptr)) break;
        for (const Mistakes& computed : mistake_sets(count)) {
            if (count_right(with(computed, way_.table, user_gradients_)) < actual_.size()) continue;
            if (found.mistake() == nullptr) {
                for (const Mistake* each : computed) found.add(Role::makes, each);
            } else {
                found.add(Role::ties, computed.front());
            }
        }
    }
    if (found.mistake() == nullptr) return false;
    if (result_.findings.empty()) result_.findings.push_back(std::move(found));
    return true;
}

void GradientSearch::one_by_one(const Ledger& whole, bool is_open) {
    first_gradients_ = user_gradients_;
    std::ranges::stable_sort(actual_, {}, [&](const UserGradient& each) {
        return place_of(way_.table, each.steps.front());
    });
    StepTable table = way_.table;
    for (std::size_t i = 0; i < actual_.size(); ++i) {
        const UserGradient& each = actual_[i];
        const Ledger correct = way_.gradients(table, user_gradients_);
        const std::string missing = missing_input(each.steps.front());
        auto found = is_open ? std::nullopt : right(each, whole);
        if (!missing.empty()) {
            skip(each, missing);
        } else if (!found && !(found = right(each, correct))) {
            if (is_open) result_.wrong.push_back(each.steps.front());
            found = name(each, std::span(actual_).subspan(i + 1), whole, correct, table);
        }
        if (found) {
            user_gradients_.record(found->first, found->second.tensor);
        } else {
            take_likeliest(each, std::span(actual_).subspan(i + 1), table);
        }
    }
}

void GradientSearch::take_likeliest(const UserGradient& each, std::span<const UserGradient> later,
                                    const StepTable& table) {
    const Ledger before = user_gradients_, correct = way_.gradients(table, user_gradients_);
    std::ptrdiff_t most = -1;
    for (const std::string& step : each.steps) {
        const std::vector<Reading> read = ways(each, step, correct[step]);
        if (read.empty()) continue;
        Ledger with_it = before;
        with_it.record(step, read.front().tensor);
        const Ledger then = way_.gradients(table, with_it);
        const auto follow = std::ranges::count_if(
            later, [&](const auto& next) { return right(next, then).has_value(); });
        if (follow <= most) continue;
        most = follow;
        user_gradients_ = std::move(with_it);
    }
}

std::optional<std::pair<std::string, Reading>> GradientSearch::name(
    const UserGradient& each, std::span<const UserGradient> later, const Ledger& whole,
    const Ledger& correct, StepTable& table) {
    GradientFinding finding;
    finding.step = each.steps.front();
    std::optional<std::pair<std::string, Reading>> best;
    Mistakes best_mistakes;
    std::ptrdiff_t most = -1;
    double nearest = distance_of(each, correct);
    std::string nearest_words;
    for (const std::size_t count : {1U, 2U}) {
        if (count == 2 && (!requested_.options.pairs || best)) break;
        for (const Mistakes& computed : mistake_sets(count)) {
            const Ledger wrong = with(computed, table, user_gradients_);
            auto found = right(each, wrong);
            if (const double far = distance_of(each, wrong); !found && far < nearest) {
                nearest = far;
                nearest_words =
                    "nearest: " + computed.front()->id + ", not accepted (max " + brief(far) + ")";
            }
            if (!found) continue;
            Ledger after = user_gradients_;
            after.record(found->first, found->second.tensor);
            const Ledger then = with(computed, table, after);
            const auto explains = std::ranges::count_if(
                later, [&](const auto& next) { return right(next, then).has_value(); });
            if (explains == most) finding.add(Role::ties, computed.front());
            if (explains <= most) continue;
            most = explains;
            best = std::move(found);
            best_mistakes = computed;
            finding.named.clear();
        }
    }
    if (!best) {
        follow(each, correct, table, finding);
        if (!nearest_words.empty()) finding.evidence.push_back(nearest_words);
        result_.findings.push_back(std::move(finding));
        return std::nullopt;
    }
    finding.step = best->first;
    for (const Mistake* computed : best_mistakes) finding.add(Role::makes, computed);
    const Ledger all_wrong = with(best_mistakes, way_.table, first_gradients_);
    finding.alone = std::ranges::any_of(actual_, [&](const UserGradient& other) {
        return right(other, whole) && !right(other, all_wrong);
    });
    if (!finding.alone) {
        for (const Mistake* computed : best_mistakes)
            table = computed->apply(std::move(table), way_.plan);
    }
    result_.findings.push_back(std::move(finding));
    return best;
}

void GradientSearch::follow(const UserGradient& each, const Ledger& correct, const StepTable& table,
                            GradientFinding& finding) const {
    const std::string& step = each.steps.front();
    const std::vector<Reading> read = ways(each, step, correct[step]);
    if (read.empty()) {
        finding.evidence = {"its shape is " + shape_text(each.tensor.shape()) + ", not " +
                            shape_text(correct[step].shape())};
        return;
    }
    const Tensor& tensor = read.front().tensor;
    finding.evidence = evidence_of(step, tensor, correct[step]);
    read_off_axes(tensor, correct[step], finding.evidence);
    if (ratio_between(tensor, correct[step])) return;
    // An earlier gradient that the user did not save may have the error.
    constexpr std::size_t most_numbers = 20'000;
    const bool is_small = tensor.size() * way_.plan.key_len <= most_numbers;
    const auto may_differ = [&](const std::string& computed) {
        return is_small && place_of(table, computed) > place_of(table, "loss") &&
               !user_gradients_.has(computed) && computed != last_;
    };
    const auto gives_theirs = [&](const std::string& computed, const Tensor& result) {
        if (computed == step) return is_near(each, step, tensor, result);
        Ledger with_it = user_gradients_;
        with_it.record(computed, result);
        const Ledger then = way_.gradients(table, with_it);
        const Tensor* outcome = then.find(step);
        return outcome != nullptr && is_near(each, step, tensor, *outcome);
    };
    const auto found = changed_rule({way_.plan, table, find_step(table, step)},
                                    correct.without(step), gives_theirs, may_differ);
    if (!found) return;
    finding.follows = found->written_rule;
    finding.followed_by = found->kind;
}

double GradientSearch::distance_of(const UserGradient& each, const Ledger& computed) {
    const Tensor* expected = computed.find(each.steps.front());
    if (expected == nullptr) return HUGE_VAL;
    const std::vector<Reading> read = ways(each, each.steps.front(), *expected);
    return read.empty() ? HUGE_VAL : distance(read.front().tensor, *expected, {}).absolute;
}

}  // namespace attn
