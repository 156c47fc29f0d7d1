#include "attn/diagnose/diagnose.hpp"

#include <algorithm>

#include "attn/diagnose/examiner.hpp"

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
        if (best_.diagnosis.has_unknown()) improves(theirs_, true);
        return std::move(best_.diagnosis);
    }

private:
    /// The tensors in the order of the walk, as they are read.
    std::vector<TheirTensor> in_order(std::vector<TheirTensor> theirs) {
        std::ranges::stable_sort(theirs, {}, [&](const TheirTensor& each) {
            return place_of(step_table(case_.plan), each.steps.front());
        });
        return theirs;
    }

    bool is_worth_it() const { return best_.diagnosis.cost < HUGE_VAL && best_.cost > 1 && tries_ < most_tries; }

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
        std::optional<Outcome> outcome = examined(case_, ordered, best_.cost - 1e-3, thorough);
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

    /// Query and key go together: where one is the turned one, so is the other.
    bool improves_by_two() {
        for (const std::size_t i : best_.troubled) {
            for (const std::size_t j : best_.troubled) {
                if (j <= i || theirs_[i].options.size() < 2) continue;
                for (const TheirTensor& one : others(theirs_[i])) {
                    for (const TheirTensor& two : others(theirs_[j])) {
                        if (one.rank != two.rank || one.aside != two.aside) continue;
                        std::vector<TheirTensor> all = theirs_;
                        all[i] = one;
                        all[j] = two;
                        if (improves(std::move(all))) return true;
                    }
                }
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

bool Diagnosis::has_mistake() const {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.mistake != nullptr && !finding.harmless;
    });
}

bool Diagnosis::judges_a_step() const {
    return std::ranges::any_of(steps, [](const StepVerdict& verdict) {
        const Step::Kind kind = find_step(step_table(), verdict.name).kind;
        return kind == Step::Kind::computed || kind == Step::Kind::detail;
    });
}

bool Diagnosis::has_unknown() const {
    return std::ranges::any_of(findings, [](const Finding& each) { return !each.mistake; });
}

Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& theirs,
                   const DiagnoseOptions& options) {
    Intake intake = taken_in(plan, given, theirs, options);
    Judge judge(plan, intake.given, options);
    std::vector<Screen> screens = Screen::of(plan, intake.given, judge.reference());
    Replay replay(plan, intake.given);
    Case about{plan, options, std::move(intake), std::move(judge), Candidates(plan), replay,
               std::move(screens)};
    Diagnosis first;
    std::vector<TheirTensor> tensors =
        their_tensors(plan, about.judge, about.intake.theirs, options, first.skipped);
    if (tensors.empty()) refuse_tensors(theirs, about.judge.reference());
    first.remarks = std::move(about.intake.remarks);
    for (std::string& remark : remarks_on(tensors, plan, about.judge.reference())) {
        first.remarks.push_back(std::move(remark));
    }
    Diagnosis diagnosis = Readers(about, std::move(tensors)).best();
    diagnosis.remarks.insert(diagnosis.remarks.begin(), first.remarks.begin(), first.remarks.end());
    diagnosis.skipped.insert(diagnosis.skipped.begin(), first.skipped.begin(), first.skipped.end());
    return diagnosis;
}

}  // namespace attn
