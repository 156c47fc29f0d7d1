#include <algorithm>
#include <map>
#include <set>

#include "attn/judge/diagnose/search.hpp"

namespace attn {
namespace {

/// A reading of all tensors, and the examination of another one with the same beginning.
struct Hypothesis {
    std::vector<UserTensor> actual;
    std::shared_ptr<const Examiner> before{};
};

/// Returns the other ways to read a tensor.
std::vector<UserTensor> others(const UserTensor& actual) {
    std::vector<UserTensor> all;
    if (actual.steps.front() == "mask") return all;
    for (std::size_t i = 0; i < actual.options.size(); ++i) {
        for (const bool aside : {false, true}) {
            const std::string& step = actual.options[i];
            if (aside && step != actual.steps.front()) continue;
            if (step == actual.steps.front() && aside == actual.aside) continue;
            UserTensor other = actual;
            other.steps = {step};
            other.rank = i;
            other.aside = aside;
            all.push_back(std::move(other));
        }
    }
    return all;
}

/// Readings of all tensors, ordered by a lower bound of their cost. Each tensor that adds to the
/// cost of a reading adds readings in which it is read differently.
class ReadingQueue {
public:
    ReadingQueue(const Case& about, std::vector<UserTensor> actual) : case_(about) {
        add({0, 0}, {std::move(actual)});
    }

    /// Returns the cheapest diagnosis.
    Diagnosis best() {
        double bound = case_.options.bound;
        for (int tries = 0; tries < most_tries && !queue_.empty(); ++tries) {
            const auto next = queue_.extract(queue_.begin());
            const auto [changes, cost] = next.key();
            if (cost >= bound) continue;
            const Hypothesis& read = next.mapped();
            std::vector<Fork> forks;
            auto outcome = examined(case_, read.actual, bound, forks, read.before.get());
            const bool is_best = outcome.has_value();
            if (is_best) best_ = *std::move(outcome);
            // If the likeliest reading exceeds the caller's bound, no other one is tried.
            if (best_.diagnosis.cost == HUGE_VAL) break;
            bound = best_.diagnosis.cost - 1e-3;
            // If one mistake explains everything, two changed readings cannot be better.
            const bool is_single =
                best_.diagnosis.cost < cost::clash && best_.diagnosis.findings.size() == 1;
            if (!is_best && (is_single || changes == most_changes)) continue;
            for (const Fork& fork : forks) add_others(read, is_best ? 1 : changes + 1, fork);
        }
        for (Finding& finding : best_.diagnosis.findings) {
            const auto follow = best_.follow.find(finding.step);
            if (finding.mistake() != nullptr || follow == best_.follow.end()) continue;
            best_.diagnosis.cost -= weight_of(finding);
            follow->second(finding);
            best_.diagnosis.cost += weight_of(finding);
        }
        return std::move(best_.diagnosis);
    }

private:
    /// The number of tensors read differently than in the best reading, and a lower bound of the
    /// cost.
    using Place = std::pair<int, double>;

    /// Adds a reading, its tensors in the order of the walk, if it is new.
    void add(Place place, Hypothesis read) {
        std::ranges::stable_sort(read.actual, {}, [&](const UserTensor& each) {
            return place_of(kept_table(case_.plan), each.steps.front());
        });
        std::string key;
        for (const UserTensor& each : read.actual) {
            key += each.name + (each.aside ? " beside " : " as ") + each.steps.front() + "\n";
        }
        if (seen_.insert(key).second) queue_.emplace(place, std::move(read));
    }

    void add_others(const Hypothesis& read, int changes, const Fork& fork) {
        const std::vector<UserTensor>& actual = read.actual;
        for (UserTensor& other : others(actual[fork.tensor])) {
            if (other.aside && std::ranges::any_of(actual, &UserTensor::aside)) continue;
            std::vector<UserTensor> all = actual;
            all[fork.tensor] = std::move(other);
            const double cost = fork.cost + cost_of({}, all) - cost_of({}, actual);
            add({changes, std::max(cost, cost::harmless)}, {std::move(all), fork.before});
        }
    }

    static constexpr int most_tries = 60, most_changes = 2;
    const Case& case_;
    Outcome best_;
    std::multimap<Place, Hypothesis> queue_;
    std::set<std::string> seen_;
};

}  // namespace

Diagnosis best_reading(const Case& about, std::vector<UserTensor> actual) {
    return ReadingQueue(about, std::move(actual)).best();
}

}  // namespace attn
