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
    for (const TheirGradient& each : theirs_) result_.compared.push_back(each.steps.front());
    leave_out_unknown();
    if (theirs_.empty()) return std::move(result_);
    if (!begin()) {
        // Only gradients that follow from other gradients of the user can be judged.
        result_.open = true;
        result_.assumed.clear();
        unknown_.insert(last_);
        taken_ = Ledger();
        one_by_one(way_.gradients(way_.table, taken_), true);
        return std::move(result_);
    }
    leave_out_unknown();
    const Ledger ours = way_.gradients(way_.table, taken_);
    for (const TheirGradient& each : theirs_) {
        if (!right(each, ours)) result_.wrong.push_back(each.steps.front());
    }
    if (!result_.wrong.empty() && !explained_together()) one_by_one(ours, false);
    return std::move(result_);
}

std::string GradientSearch::last_of(Chain chain) const {
    std::string name;
    for (const Step& step : way_.table) {
        if (step.applies(way_.plan) && step.chain == chain) name = step.name;
    }
    return name;
}

std::string GradientSearch::unknown_behind(const std::string& step) const {
    std::set<std::string> seen;
    return unknown_behind(step, seen);
}

std::string GradientSearch::unknown_behind(const std::string& name,
                                           std::set<std::string>& seen) const {
    if (taken_.has(name) || !seen.insert(name).second) return {};
    if (unknown_.contains(name)) return name;
    const bool goes_back = name.starts_with("d_") || name == "row_dot";
    if ((!goes_back && asked_.forward.read.has(name)) || !way_.has(name)) return {};
    const Step& step = find_step(way_.table, name);
    for (const Input& input : step.reads(way_.plan)) {
        const std::string of = PlannedStep{way_.plan, way_.table, step}.name_of(input);
        if (std::string found = unknown_behind(of, seen); !found.empty()) return found;
    }
    return {};
}

void GradientSearch::leave_out_unknown() {
    std::erase_if(theirs_, [&](const TheirGradient& each) {
        const std::string missing = unknown_behind(each.steps.front());
        if (!missing.empty()) skip(each, missing);
        return !missing.empty();
    });
}

void GradientSearch::skip(const TheirGradient& each, const std::string& missing) {
    const bool is_loss = missing == last_;
    result_.skipped.push_back({each.name, is_loss
                                              ? "it needs the gradient of " + missing.substr(2)
                                              : "there is no " + missing + " to compute it with"});
    std::erase(result_.compared, each.steps.front());
}

std::optional<Reading> GradientSearch::as(const TheirGradient& theirs, const std::string& step,
                                          const Ledger& ours, double factor) const {
    const Tensor* tensor = ours.find(step);
    if (tensor == nullptr) return std::nullopt;
    for (Reading& reading : ways(theirs, step, *tensor)) {
        if (is_near(theirs, step, reading.tensor, *tensor, factor)) return std::move(reading);
    }
    return std::nullopt;
}

std::vector<Reading> GradientSearch::ways(const TheirGradient& theirs, const std::string& step,
                                          const Tensor& ours) {
    std::vector<Reading> all = readings(theirs.tensor, ours);
    if (step.starts_with("d_w_")) {
        // A parameter has one layout: its transpose is a mistake.
        std::erase_if(all, [](const Reading& each) { return !each.layout.empty(); });
    } else if (!theirs.may_turn && theirs.tensor.shape() == ours.shape()) {
        all.resize(1);
    }
    return all;
}

bool GradientSearch::is_near(const TheirGradient& theirs, const std::string& step,
                             const Tensor& tensor, const Tensor& ours, double factor) const {
    Tolerance allowed{way_.noise(step) * std::abs(factor) * theirs.epsilon, 8 * theirs.epsilon};
    if (asked_.options.tolerance) allowed = *asked_.options.tolerance;
    if (asked_.options.decimals) {
        allowed.absolute += std::pow(10.0, -*asked_.options.decimals) *
                            (1 + way_.noise(step) * std::abs(factor) / 40);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double a = tensor.at(i), b = factor * ours.at(i);
        const double most = allowed.absolute + allowed.relative * std::abs(b);
        if (!same_number(a, b) && !(std::abs(a - b) <= most)) return false;
    }
    return true;
}

std::optional<std::pair<std::string, Reading>> GradientSearch::right(const TheirGradient& theirs,
                                                                     const Ledger& ours,
                                                                     double factor) const {
    for (const std::string& step : theirs.steps) {
        if (auto reading = as(theirs, step, ours, factor)) return {{step, *reading}};
    }
    // Scores in units of log2, as exp2 takes them.
    for (const std::string& step : theirs.steps) {
        if (!step.ends_with("scores")) continue;
        if (auto reading = as(theirs, step, ours, factor * std::numbers::ln2)) {
            const Tensor all = cast(reading->tensor, DType::float64);
            return {
                {step,
                 {mapped(all, [](double cell) { return cell / std::numbers::ln2; }), "in log2"}}};
        }
    }
    return std::nullopt;
}

std::size_t GradientSearch::count_right(const Ledger& ours, double factor) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        theirs_, [&](const auto& each) { return right(each, ours, factor).has_value(); }));
}

Ledger GradientSearch::with(const Mistakes& made, StepTable table, const Ledger& taken) const {
    for (const Mistake* mistake : made) table = mistake->apply(std::move(table), way_.plan);
    return way_.gradients(table, taken);
}

std::vector<GradientSearch::Mistakes> GradientSearch::all_made(std::size_t count) const {
    std::vector<Mistakes> all;
    const std::vector<Mistake>& known = gradient_mistakes();
    for (std::size_t i = 0; i < known.size(); ++i) {
        const auto made_here = [&](const Step& step) {
            return step.mistake_ids.find(known[i].id) != std::string::npos;
        };
        if (std::ranges::none_of(known[i].apply(way_.table, way_.plan), made_here)) continue;
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
        if (count == 2 && (!asked_.options.pairs || found.mistake() != nullptr)) break;
        for (const Mistakes& made : all_made(count)) {
            if (count_right(with(made, way_.table, taken_)) < theirs_.size()) continue;
            if (found.mistake() == nullptr) {
                for (const Mistake* each : made) found.add(Role::makes, each);
            } else {
                found.add(Role::ties, made.front());
            }
        }
    }
    if (found.mistake() == nullptr) return false;
    if (result_.findings.empty()) result_.findings.push_back(std::move(found));
    return true;
}

void GradientSearch::one_by_one(const Ledger& whole, bool is_open) {
    begun_ = taken_;
    std::ranges::stable_sort(theirs_, {}, [&](const TheirGradient& each) {
        return place_of(way_.table, each.steps.front());
    });
    StepTable table = way_.table;
    for (std::size_t i = 0; i < theirs_.size(); ++i) {
        const TheirGradient& each = theirs_[i];
        const Ledger ours = way_.gradients(table, taken_);
        const std::string missing = unknown_behind(each.steps.front());
        auto found = is_open ? std::nullopt : right(each, whole);
        if (!missing.empty()) {
            skip(each, missing);
        } else if (!found && !(found = right(each, ours))) {
            if (is_open) result_.wrong.push_back(each.steps.front());
            found = name(each, std::span(theirs_).subspan(i + 1), whole, ours, table);
        }
        if (found) {
            taken_.record(found->first, found->second.tensor);
        } else {
            take_likeliest(each, std::span(theirs_).subspan(i + 1), table);
        }
    }
}

void GradientSearch::take_likeliest(const TheirGradient& each, std::span<const TheirGradient> later,
                                    const StepTable& table) {
    const Ledger before = taken_, ours = way_.gradients(table, taken_);
    std::ptrdiff_t most = -1;
    for (const std::string& step : each.steps) {
        const std::vector<Reading> read = ways(each, step, ours[step]);
        if (read.empty()) continue;
        Ledger with_it = before;
        with_it.record(step, read.front().tensor);
        const Ledger then = way_.gradients(table, with_it);
        const auto follow = std::ranges::count_if(
            later, [&](const auto& next) { return right(next, then).has_value(); });
        if (follow <= most) continue;
        most = follow;
        taken_ = std::move(with_it);
    }
}

std::optional<std::pair<std::string, Reading>> GradientSearch::name(
    const TheirGradient& each, std::span<const TheirGradient> later, const Ledger& whole,
    const Ledger& ours, StepTable& table) {
    GradientFinding finding;
    finding.step = each.steps.front();
    std::optional<std::pair<std::string, Reading>> best;
    Mistakes best_made;
    std::ptrdiff_t most = -1;
    double nearest = distance_of(each, ours);
    std::string nearest_words;
    for (const std::size_t count : {1U, 2U}) {
        if (count == 2 && (!asked_.options.pairs || best)) break;
        for (const Mistakes& made : all_made(count)) {
            const Ledger wrong = with(made, table, taken_);
            auto found = right(each, wrong);
            if (const double far = distance_of(each, wrong); !found && far < nearest) {
                nearest = far;
                nearest_words =
                    "nearest: " + made.front()->id + ", not accepted (max " + brief(far) + ")";
            }
            if (!found) continue;
            Ledger after = taken_;
            after.record(found->first, found->second.tensor);
            const Ledger then = with(made, table, after);
            const auto explains = std::ranges::count_if(
                later, [&](const auto& next) { return right(next, then).has_value(); });
            if (explains == most) finding.add(Role::ties, made.front());
            if (explains <= most) continue;
            most = explains;
            best = std::move(found);
            best_made = made;
            finding.named.clear();
        }
    }
    if (!best) {
        follow(each, ours, table, finding);
        if (!nearest_words.empty()) finding.evidence.push_back(nearest_words);
        result_.findings.push_back(std::move(finding));
        return std::nullopt;
    }
    finding.step = best->first;
    for (const Mistake* made : best_made) finding.add(Role::makes, made);
    const Ledger all_wrong = with(best_made, way_.table, begun_);
    finding.alone = std::ranges::any_of(theirs_, [&](const TheirGradient& other) {
        return right(other, whole) && !right(other, all_wrong);
    });
    if (!finding.alone) {
        for (const Mistake* made : best_made) table = made->apply(std::move(table), way_.plan);
    }
    result_.findings.push_back(std::move(finding));
    return best;
}

void GradientSearch::follow(const TheirGradient& each, const Ledger& ours, const StepTable& table,
                            GradientFinding& finding) const {
    const std::string& step = each.steps.front();
    const std::vector<Reading> read = ways(each, step, ours[step]);
    if (read.empty()) {
        finding.evidence = {"its shape is " + shape_text(each.tensor.shape()) + ", not " +
                            shape_text(ours[step].shape())};
        return;
    }
    const Tensor& tensor = read.front().tensor;
    finding.evidence = evidence_of(step, tensor, ours[step]);
    read_off_axes(tensor, ours[step], finding.evidence);
    if (ratio_between(tensor, ours[step])) return;
    // An earlier gradient that the user did not save may have the error.
    constexpr std::size_t most_numbers = 20'000;
    const bool is_small = tensor.size() * way_.plan.key_len <= most_numbers;
    const auto may_differ = [&](const std::string& made) {
        return is_small && place_of(table, made) > place_of(table, "loss") && !taken_.has(made) &&
               made != last_;
    };
    const auto gives_theirs = [&](const std::string& made, const Tensor& result) {
        if (made == step) return is_near(each, step, tensor, result);
        Ledger with_it = taken_;
        with_it.record(made, result);
        const Ledger then = way_.gradients(table, with_it);
        const Tensor* outcome = then.find(step);
        return outcome != nullptr && is_near(each, step, tensor, *outcome);
    };
    const auto found = changed_rule({way_.plan, table, find_step(table, step)}, ours.without(step),
                                    gives_theirs, may_differ);
    if (!found) return;
    finding.follows = found->told;
    finding.followed_by = found->kind;
}

double GradientSearch::distance_of(const TheirGradient& each, const Ledger& made) {
    const Tensor* expected = made.find(each.steps.front());
    if (expected == nullptr) return HUGE_VAL;
    const std::vector<Reading> read = ways(each, each.steps.front(), *expected);
    return read.empty() ? HUGE_VAL : distance(read.front().tensor, *expected, {}).absolute;
}

}  // namespace attn
