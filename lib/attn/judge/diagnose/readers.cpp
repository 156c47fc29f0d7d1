#include <algorithm>

#include "attn/judge/diagnose/search.hpp"

namespace attn {
namespace {

/// Looks for the reading of all tensors under which the fewest and smallest findings are needed.
class Readers {
public:
    Readers(const Case& about, std::vector<TheirTensor> theirs)
        : case_(about),
          theirs_(in_order(std::move(theirs))),
          best_(examined(about, theirs_, about.options.bound, false).value_or(Outcome())) {}

    Diagnosis best() {
        while (is_worth_it() && (improves_by_one() || improves_by_two())) {
        }
        const auto left_out = [](const Skipped& each) { return each.cost >= cost::left_out; };
        if (best_.diagnosis.has_unknown() ||
            std::ranges::any_of(best_.diagnosis.skipped, left_out)) {
            improves(theirs_, true);
        }
        return std::move(best_.diagnosis);
    }

private:
    /// The tensors in the order of the walk, as they are read.
    std::vector<TheirTensor> in_order(std::vector<TheirTensor> theirs) {
        std::ranges::stable_sort(theirs, {}, [&](const TheirTensor& each) {
            return place_of(kept_table(case_.plan), each.steps.front());
        });
        return theirs;
    }

    bool is_worth_it() const {
        return best_.diagnosis.cost < HUGE_VAL && best_.cost > cost::harmless &&
               tries_ < most_tries;
    }

    /// The other ways to read a tensor.
    static std::vector<TheirTensor> others(const TheirTensor& theirs) {
        std::vector<TheirTensor> all;
        if (theirs.steps.front() == "mask") return all;
        for (std::size_t i = 0; i < theirs.options.size(); ++i) {
            for (const bool aside : {false, true}) {
                const std::string& step = theirs.options[i];
                if (aside && step != theirs.steps.front()) continue;
                if (step == theirs.steps.front() && aside == theirs.aside) continue;
                TheirTensor other = theirs;
                other.steps = {step};
                other.rank = i;
                other.aside = aside;
                all.push_back(std::move(other));
            }
        }
        return all;
    }

    bool improves(std::vector<TheirTensor> theirs, bool thorough = false) {
        ++tries_;
        std::vector<TheirTensor> ordered = in_order(std::move(theirs));
        const double bound = best_.cost + (thorough ? 1e-3 : -1e-3);
        std::optional<Outcome> outcome =
            examined(case_, ordered, bound, thorough, best_.calm.get());
        if (!outcome) return false;
        best_ = std::move(*outcome);
        theirs_ = std::move(ordered);
        return true;
    }

    bool improves_by_one() {
        for (const std::size_t i : best_.troubled) {
            for (TheirTensor& other : others(theirs_[i])) {
                std::vector<TheirTensor> all = theirs_;
                all[i] = std::move(other);
                if (improves(std::move(all))) return true;
            }
        }
        return false;
    }

    /// Query and key go together: where one is the turned one, so is the other. Then any two, of
    /// which one has a finding. One mistake that explains all else leaves nothing for two.
    bool improves_by_two() {
        const Diagnosis& found = best_.diagnosis;
        if (found.findings.size() == 1 && !found.has_unknown() && best_.cost < cost::clash)
            return false;
        for (const bool alike : {true, false}) {
            for (const std::size_t i : best_.troubled) {
                for (std::size_t j = 0; j < theirs_.size(); ++j) {
                    if (j == i || theirs_[j].is_right || theirs_[j].options.size() < 2) continue;
                    if (improves_with(i, j, alike)) return true;
                }
            }
        }
        return false;
    }

    bool improves_with(std::size_t i, std::size_t j, bool alike) {
        for (const TheirTensor& one : others(theirs_[i])) {
            for (const TheirTensor& two : others(theirs_[j])) {
                if (alike != (one.rank == two.rank && one.aside == two.aside)) continue;
                if (tries_ >= most_tries) return false;
                std::vector<TheirTensor> all = theirs_;
                all[i] = one;
                all[j] = two;
                if (improves(std::move(all))) return true;
            }
        }
        return false;
    }

    static constexpr int most_tries = 60;
    const Case& case_;
    std::vector<TheirTensor> theirs_;
    Outcome best_;
    int tries_ = 0;
};

}  // namespace

Diagnosis best_reading(const Case& about, std::vector<TheirTensor> theirs) {
    return Readers(about, std::move(theirs)).best();
}

}  // namespace attn
