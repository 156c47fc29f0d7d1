#include <algorithm>

#include "attn/ground/text/number_text.hpp"
#include "attn/judge/diagnose/examination.hpp"

namespace attn {

/// Goes through a reading of all tensors, in the order of the walk.
class Examiner : Examination {
public:
    Examiner(const Case& about, const std::vector<TheirTensor>& theirs, double bound)
        : Examination(about, theirs), bound_(bound) {
        outcome_.cost = cost_of({}, theirs);
    }

    /// Continues this examination for another reading that begins with the same tensors; nullopt if
    /// it does not.
    std::optional<Examiner> of(const std::vector<TheirTensor>& theirs, double bound) const {
        const auto is_same = [](const TheirTensor& one, const TheirTensor& other) {
            return one.name == other.name && one.steps == other.steps && one.aside == other.aside;
        };
        const auto begin = theirs_->begin(), end = begin + static_cast<std::ptrdiff_t>(next_);
        if (!std::equal(begin, end, theirs.begin(), is_same)) return std::nullopt;
        Examiner other = *this;
        other.outcome_.cost += cost_of({}, theirs) - cost_of({}, *theirs_);
        other.theirs_ = std::make_shared<const std::vector<TheirTensor>>(theirs);
        other.bound_ = bound;
        return other;
    }

    std::optional<Outcome> examine(std::vector<Fork>& forks) {
        for (const bool aside : {false, true}) {
            if (aside) next_ = 0;
            while (next_ < theirs_->size()) {
                const TheirTensor& theirs = (*theirs_)[next_];
                const double cost = outcome_.cost;
                std::shared_ptr<const Examiner> before;
                if (!aside) before = std::make_shared<const Examiner>(*this);
                ++next_;
                if (theirs.aside != aside) continue;
                const std::size_t findings = diagnosis_.findings.size();
                const std::size_t steps = diagnosis_.steps.size();
                examine(theirs);
                weigh(findings, steps);
                if (outcome_.cost > cost && !aside) forks.push_back({next_ - 1, cost, before});
                if (outcome_.cost >= bound_) return std::nullopt;
            }
        }
        for (Finding& finding : diagnosis_.findings) {
            const bool is_first =
                find_step(kept_table(case_.plan), finding.step).chain == Chain::none ||
                finding.step == "query" || finding.step == "key";
            // Query and key were changed alike: only their product counts. If low precision is only
            // assumed, equal products prove nothing.
            const bool undone = !judge_.is_loose() &&
                                (turns_both(finding.step) ||
                                 (is_side(finding.step) && !blocked_ &&
                                  (undone_ || (is_first && have_same_product(case_, replay_)))));
            mark_if_harmless(case_.plan, finding, diagnosis_, undone, undone || undone_,
                             results_are_wrong_);
        }
        // If the results are wrong, some difference is not harmless.
        const auto is_harmless = [](const Finding& finding) { return finding.harmless; };
        if (results_are_wrong_ && std::ranges::all_of(diagnosis_.findings, is_harmless)) {
            for (Finding& finding : diagnosis_.findings) finding.harmless = false;
        }
        fold_halves(diagnosis_);
        outcome_.cost = cost_of(diagnosis_, *theirs_) + cost::clash * clashes_;
        diagnosis_.cost = outcome_.cost;
        diagnosis_.read = replay_.given();
        outcome_.diagnosis = std::move(diagnosis_);
        return outcome_.cost < bound_ ? std::optional(std::move(outcome_)) : std::nullopt;
    }

private:
    void examine(const TheirTensor& theirs) {
        unexplained_ = Finding();
        unexplained_.step = theirs.steps.front();
        if (theirs.steps.front() == "mask") return enter_mask(theirs);
        theirs.aside ? examine_aside(theirs) : examine_step(theirs);
    }

    /// Adds a lower bound of the cost of the newest findings and verdicts.
    void weigh(std::size_t findings, std::size_t steps) {
        const bool is_new = diagnosis_.steps.size() > steps;
        if (is_new && is_unjudged(diagnosis_.steps.back())) outcome_.cost += cost::unjudged;
        const bool may_turn_harmless = !later_is_wrong();
        for (std::size_t i = findings; i < diagnosis_.findings.size(); ++i) {
            const double weight = weight_of(diagnosis_.findings[i]);
            outcome_.cost += may_turn_harmless ? std::min(weight, cost::harmless) : weight;
        }
    }

    /// True if a finding of that cost makes this reading worse than the best one.
    bool is_too_dear(double weight) const {
        return outcome_.cost + (later_is_wrong() ? weight : std::min(weight, cost::harmless)) >=
               bound_;
    }

    /// Returns the mistake that gives this tensor if it explains more of the later tensors than a
    /// layout does.
    std::optional<Match> rather_mistaken(const TheirTensor& theirs, const std::string& step,
                                         const Reading& reading) {
        if (replay_.step(step) == nullptr) return std::nullopt;
        std::optional<Match> match = searched(scene_at(theirs, step, false)).match;
        if (!match || match->finding.harmless) return std::nullopt;
        const auto explains = [&](const Mistake* mistake, const Tensor& tensor) {
            return explained_behind(replay_, mistake, step, tensor, judge_, later());
        };
        const bool more = explains(match->finding.mistake(), match->reading.tensor) >
                          explains(nullptr, reading.tensor);
        return more ? std::move(match) : std::nullopt;
    }

    void examine_step(const TheirTensor& theirs) {
        bool found = is_explained(theirs);
        if (!found && judge_.may_look_away(theirs)) {
            judge_.look_away(true);
            found = is_explained(theirs);
            judge_.look_away(false);
        }
        if (found) return;
        const std::string drawn = drawn_for(case_, theirs.steps.front());
        if (!drawn.empty()) return skip_without(drawn, theirs, cost::unjudged);
        if (!theirs.stray.empty() && !leads_on(theirs)) {
            return skip(theirs, theirs.stray, cost::stray);
        }
        const bool is_projected = !case_.plan.config.output_projection &&
                                  !case_.options.has_all_inputs && names_a_result(theirs.name) &&
                                  !case_.options.steps.contains(theirs.name);
        const Tensor* merged = is_projected && !blocked_ ? replay_.step("merged") : nullptr;
        const bool may_be = merged == nullptr || may_be_projected(theirs.tensor, *merged);
        if (is_projected && may_be && !diagnosis_.steps.empty()) {
            return skip_without("w_output", theirs, cost::left_out);
        }
        if (is_projected) {
            unexplained_.lacks_parameter = true;
            unexplained_.evidence.push_back("if it is projected: " + nothing_makes_it("w_output"));
        }
        leave_unknown(theirs, theirs.steps.front());
    }

    void skip(const TheirTensor& theirs, const std::string& reason, double cost) {
        diagnosis_.skipped.push_back({theirs.name, reason, cost});
        outcome_.cost += cost;
    }
    static std::string nothing_makes_it(const std::string& parameter) {
        return "there is no " + parameter + " to compute it with";
    }
    void skip_without(const std::string& parameter, const TheirTensor& theirs, double cost) {
        skip(theirs, nothing_makes_it(parameter), cost);
        diagnosis_.skipped.back().lacks_parameter = true;
    }

    /// True if a tensor with an unknown name and unexplained numbers should still be read as a
    /// step: later tensors follow from it, or there are no others.
    bool leads_on(const TheirTensor& theirs) const {
        const auto is_stray = [](const TheirTensor& each) { return !each.stray.empty(); };
        const bool is_last = next_ == theirs_->size() && diagnosis_.steps.empty();
        if (is_last && std::ranges::all_of(*theirs_, is_stray)) return true;
        return !blocked_ && !has_row(theirs.steps.front()) &&
               explains_more(theirs, replay_, judge_, later());
    }

    /// Examines a tensor that no step is replayed from: it must follow from the others, or be only
    /// another form of a tensor that does.
    void examine_aside(const TheirTensor& theirs) {
        const std::string& step = theirs.steps.front();
        const auto half = std::ranges::find_if(diagnosis_.findings, [](const Finding& finding) {
            return finding.mistake() != nullptr && !finding.harmless;
        });
        if (!blocked_ && half != diagnosis_.findings.end() && replay_.step(step) != nullptr) {
            if (settles_as_replayed(theirs, step, false) || is_half(theirs, step, *half)) return;
        }
        ++clashes_;
        leave_unknown(theirs, step);
    }

    /// True if a tensor is written in a way that would be harmless without the mistake.
    bool is_half(const TheirTensor& theirs, const std::string& step, Finding& half) {
        const Tensor ours = *replay_.step(step);
        for (const Reading& reading : readings(theirs.tensor, ours)) {
            const std::optional<double> ratio = ratio_between(reading.tensor, ours);
            if (!ratio || !is_side(step) || half.mistake()->step != "scaled_scores") continue;
            diagnosis_.steps.push_back(verdict_on(theirs, step, reading));
            half.evidence.push_back(theirs.name + ": every number is " + brief(*ratio) +
                                    " times what it should be");
            return true;
        }
        return false;
    }

    /// True if the replay gives this tensor, in some layout; its row is then recorded.
    bool settles_as_replayed(const TheirTensor& theirs, const std::string& step, bool takes) {
        if (replay_.step(step) == nullptr) return false;
        const Tensor local = *replay_.step(step);
        const Tensor* key = step == "rotary_key" ? replay_.step("rotated_key") : nullptr;
        const auto reading = judge_.reading_as(theirs, step, local, key, uses_theirs_);
        if (!reading) return false;
        takes ? settle(theirs, step, *reading)
              : diagnosis_.steps.push_back(verdict_on(theirs, step, *reading));
        return true;
    }

    /// True if it follows from the user's earlier tensors in its own layout.
    bool follows_as_it_is(const TheirTensor& theirs, const std::string& step) {
        const Tensor* local = blocked_ ? nullptr : replay_.step(step);
        if (local == nullptr || local->shape() != theirs.tensor.shape()) return false;
        const Tensor as_it_is = readings(theirs.tensor, *local).front().tensor;
        return judge_(step, theirs, as_it_is, *local, uses_theirs_).right();
    }

    /// True if it is right, follows from the user's earlier tensors or has a known mistake; records
    /// which.
    bool is_explained(const TheirTensor& theirs) {
        const auto right = [&](const std::string& step) {
            const std::optional<Reading> reading = judge_.right_reading(theirs, step);
            if (!reading) return false;
            if (!reading->layout.empty() && follows_as_it_is(theirs, step)) return false;
            // The same numbers in another order are either a layout, or a mistake that later steps
            // inherit.
            if (!reading->layout.empty() && !blocked_ && later_is_wrong()) {
                if (std::optional<Match> match = rather_mistaken(theirs, step, *reading)) {
                    enter(theirs, step, std::move(*match));
                    return true;
                }
            }
            if (!blocked_ && replay_.step(step) != nullptr) {
                if (std::optional<Match> match =
                        rescaled(scene_at(theirs, step, false), *reading)) {
                    enter(theirs, step, std::move(*match));
                    // Rounding may explain each cell alone, but not all of them together.
                    StepVerdict& verdict = diagnosis_.steps.back();
                    verdict.global = verdict.local = Verdict::wrong;
                    results_are_wrong_ = true;
                    return true;
                }
            }
            settle(theirs, step, *reading);
            return true;
        };
        const auto inherited = [&](const std::string& step) {
            return settles_as_replayed(theirs, step, true);
        };
        // A tensor that follows from right ones is right. The bound of a single step is the
        // tightest.
        const auto follows = [&](const std::string& step) {
            const Tensor* const local = replay_.step(step);
            if (local == nullptr) return false;
            for (const Reading& reading : readings(theirs.tensor, *local)) {
                if (!reading.layout.empty() && later_is_wrong()) return false;
                const Judged answer = judge_(step, theirs, reading.tensor, *local, uses_theirs_);
                if (!answer.right()) continue;
                settle(theirs, step, reading, answer, true);
                return true;
            }
            return false;
        };
        if (!blocked_ && all_is_right_so_far(theirs) &&
            std::ranges::any_of(theirs.steps, follows)) {
            return true;
        }
        // The bound for 16 bits over the whole walk may be wider than a mistake in its last step.
        const bool is_far = judge_.epsilon_of(theirs) != 0 && uses_theirs_ && !blocked_;
        if (is_far && std::ranges::any_of(theirs.steps, inherited)) return true;
        if (!is_far && std::ranges::any_of(theirs.steps, right)) return true;
        if (blocked_) return false;  // it follows from tensors that cannot be replayed
        return (!is_far && std::ranges::any_of(theirs.steps, inherited)) ||
               find_mistake_at(theirs, theirs.steps.front());
    }

    Scene scene_at(const TheirTensor& theirs, const std::string& step, bool only_harmless) {
        return {case_,
                judge_,
                replay_,
                theirs,
                step,
                uses_theirs_,
                later(),
                only_harmless,
                [this](const Mistake& mistake) { return is_refuted(case_, diagnosis_, mistake); }};
    }

    bool find_mistake_at(const TheirTensor& theirs, const std::string& step) {
        if (replay_.step(step) == nullptr) return false;
        if (!theirs.stray.empty() && has_row(step)) return false;
        const bool stays_wrong =
            later_is_wrong() || (!theirs.is_right && is_result_step(case_.plan, step));
        const bool spares = bound_ - outcome_.cost > cost::mistake || !stays_wrong;
        SearchResult found = searched(scene_at(theirs, step, !spares));
        if (!found.match) {
            unexplained_ = std::move(found.unexplained);
            return false;
        }
        enter(theirs, step, *std::move(found.match));
        return true;
    }

    /// True if most cells are right, as if one was typed wrongly.
    static bool is_slip(const Tensor& theirs, const Tensor& expected, const Tolerance& tolerance) {
        if (theirs.shape() != expected.shape()) return false;
        std::size_t wrong = 0;
        each_number(theirs, [&](std::size_t i, double cell) {
            const double right = expected.at(i);
            const double near = tolerance.absolute + tolerance.relative * std::abs(right);
            wrong += same_number(cell, right) || std::abs(cell - right) <= near ? 0 : 1;
        });
        return 2 * wrong < theirs.size();
    }

    void leave_unknown(const TheirTensor& theirs, const std::string& step) {
        const Tensor* local = blocked_ ? nullptr : replay_.step(step);
        const Tensor expected = local != nullptr ? *local : judge_.reference()[step];
        Reading reading{theirs.tensor, ""};
        if (std::vector<Reading> ways = readings(theirs.tensor, expected); !ways.empty()) {
            reading = ways.front();
        }
        std::optional<Judged> answer;
        // After a tensor that could not be replayed from, the step at fault is unknown.
        if (!blocked_) {
            if (is_too_dear(cost::slip)) {
                diagnosis_.findings.push_back(unexplained_);
                return;
            }
            answer = judge_.in_full(step, theirs, reading.tensor, expected, uses_theirs_);
            const auto is_ratio = [](const std::string& line) { return line.starts_with("every"); };
            if (answer->slope && std::ranges::none_of(unexplained_.evidence, is_ratio)) {
                unexplained_.evidence.push_back(answer->slope->text());
            }
            diagnosis_.findings.push_back(unexplained_);
            diagnosis_.findings.back().is_slip = is_slip(
                reading.tensor, expected, judge_.tolerance(step, theirs, expected, uses_theirs_));
            outcome_.follow[step] = [&about = case_, theirs, step, tensor = reading.tensor,
                                     replay = replay_](Finding& finding) mutable {
                follow_a_rule(about, theirs, step, tensor, replay, finding);
            };
        }
        settle(theirs, step, reading, answer);
    }

    Outcome outcome_;
    double bound_;
    Finding unexplained_;  ///< of the current tensor, for the case that nothing explains it
};

std::optional<Outcome> examined(const Case& about, const std::vector<TheirTensor>& theirs,
                                double bound, std::vector<Fork>& forks, const Examiner* before) {
    if (cost_of({}, theirs) >= bound) return std::nullopt;
    std::optional<Examiner> begun = before != nullptr ? before->of(theirs, bound) : std::nullopt;
    if (!begun) begun.emplace(about, theirs, bound);
    return begun->examine(forks);
}

}  // namespace attn
