#include <algorithm>

#include "attn/ground/text/number_text.hpp"
#include "attn/judge/diagnose/examination.hpp"

namespace attn {

/// Goes through a reading of all tensors, in the order of the walk.
class Examiner : Examination {
public:
    Examiner(const Case& about, const std::vector<UserTensor>& actual, double bound)
        : Examination(about, actual), cost_(cost_of({}, actual)), bound_(bound) {}

    /// Continues this examination for another reading that begins with the same tensors; nullopt if
    /// it does not.
    std::optional<Examiner> of(const std::vector<UserTensor>& actual, double bound) const {
        const auto is_same = [](const UserTensor& one, const UserTensor& other) {
            return one.name == other.name && one.steps == other.steps && one.aside == other.aside;
        };
        const auto begin = actual_->begin(), end = begin + static_cast<std::ptrdiff_t>(next_);
        if (!std::equal(begin, end, actual.begin(), is_same)) return std::nullopt;
        Examiner other = *this;
        other.cost_ += cost_of({}, actual) - cost_of({}, *actual_);
        other.actual_ = std::make_shared<const std::vector<UserTensor>>(actual);
        other.bound_ = bound;
        return other;
    }

    std::optional<Outcome> examine(std::vector<Fork>& forks) {
        for (const bool aside : {false, true}) {
            if (aside) next_ = 0;
            while (next_ < actual_->size()) {
                const UserTensor& actual = (*actual_)[next_];
                const double cost = cost_;
                std::shared_ptr<const Examiner> before;
                if (!aside) before = std::make_shared<const Examiner>(*this);
                ++next_;
                if (actual.aside != aside) continue;
                const std::size_t findings = diagnosis_.findings.size();
                const std::size_t steps = diagnosis_.steps.size();
                examine(actual);
                weigh(findings, steps);
                if (cost_ > cost && !aside) forks.push_back({next_ - 1, cost, before});
                if (cost_ >= bound_) return std::nullopt;
            }
        }
        for (Finding& finding : diagnosis_.findings) {
            const bool is_first =
                find_step(kept_table(case_.plan), finding.step).chain == Chain::none ||
                finding.step == "query" || finding.step == "key";
            // Query and key were changed alike: only their product counts. If low precision is only
            // assumed, equal products prove nothing.
            const bool undone =
                !judge_.is_loose() &&
                (turns_both(finding.step) ||
                 (is_side(finding.step) && !blocked_ &&
                  (follows_user_ || (is_first && have_same_product(case_, replay_)))));
            mark_if_harmless(case_.plan, finding, diagnosis_, undone, undone || follows_user_,
                             results_are_wrong_);
        }
        // If the results are wrong, some difference is not harmless.
        const auto is_harmless = [](const Finding& finding) { return finding.harmless; };
        if (results_are_wrong_ && std::ranges::all_of(diagnosis_.findings, is_harmless)) {
            for (Finding& finding : diagnosis_.findings) finding.harmless = false;
        }
        fold_halves(diagnosis_);
        diagnosis_.cost = cost_of(diagnosis_, *actual_) + cost::clash * conflicts_;
        diagnosis_.read = replay_.given();
        outcome_.diagnosis = std::move(diagnosis_);
        if (outcome_.diagnosis.cost >= bound_) return std::nullopt;
        return std::move(outcome_);
    }

private:
    void examine(const UserTensor& actual) {
        unexplained_ = Finding();
        excess_ = 0;
        unexplained_.step = actual.steps.front();
        if (actual.steps.front() == "mask") return enter_mask(actual);
        actual.aside ? examine_aside(actual) : examine_step(actual);
    }

    /// Adds a lower bound of the cost of the newest findings and verdicts.
    void weigh(std::size_t findings, std::size_t steps) {
        const bool is_new = diagnosis_.steps.size() > steps;
        if (is_new && is_unjudged(diagnosis_.steps.back())) cost_ += cost::unjudged;
        const bool may_turn_harmless = !later_is_wrong();
        for (std::size_t i = findings; i < diagnosis_.findings.size(); ++i) {
            const double weight = weight_of(diagnosis_.findings[i]);
            cost_ += may_turn_harmless ? std::min(weight, cost::harmless) : weight;
        }
    }

    /// True if a finding of that cost makes this reading worse than the best one.
    bool is_too_dear(double weight) const {
        return cost_ + (later_is_wrong() ? weight : std::min(weight, cost::harmless)) >= bound_;
    }

    /// Returns the mistake that gives this tensor if it explains more of the later tensors than a
    /// layout does.
    std::optional<Match> rather_mistaken(const UserTensor& actual, const std::string& step,
                                         const Reading& reading) {
        if (replay_.step(step) == nullptr) return std::nullopt;
        std::optional<Match> match = searched(scene_at(actual, step, false)).match;
        if (!match || match->finding.harmless) return std::nullopt;
        const auto explains = [&](const Mistake* mistake, const Tensor& tensor) {
            return count_explained(replay_, mistake, step, tensor, judge_, later());
        };
        const bool more = explains(match->finding.mistake(), match->reading.tensor) >
                          explains(nullptr, reading.tensor);
        return more ? std::move(match) : std::nullopt;
    }

    void examine_step(const UserTensor& actual) {
        bool found = is_explained(actual);
        if (!found && judge_.may_ignore_hidden(actual)) {
            judge_.ignore_hidden(true);
            found = is_explained(actual);
            judge_.ignore_hidden(false);
        }
        if (found) return;
        const std::string drawn = drawn_for(case_, actual.steps.front());
        if (!drawn.empty()) return skip_without(drawn, actual, cost::unjudged);
        if (!actual.stray.empty() && !leads_on(actual)) {
            return skip(actual, actual.stray, cost::stray);
        }
        const bool is_projected = !case_.plan.config.output_projection &&
                                  !case_.options.has_all_inputs && names_a_result(actual.name) &&
                                  !case_.options.steps.contains(actual.name);
        const Tensor* merged = is_projected && !blocked_ ? replay_.step("merged") : nullptr;
        const bool may_be = merged == nullptr || may_be_projected(actual.tensor, *merged);
        if (is_projected && may_be && !diagnosis_.steps.empty()) {
            return skip_without("w_output", actual, cost::left_out);
        }
        if (is_projected) {
            unexplained_.lacks_parameter = true;
            unexplained_.evidence.push_back("if it is projected: " + has_no_source("w_output"));
        }
        leave_unknown(actual, actual.steps.front());
    }

    void skip(const UserTensor& actual, const std::string& reason, double cost) {
        diagnosis_.skipped.push_back({actual.name, reason, cost});
        cost_ += cost;
    }
    static std::string has_no_source(const std::string& parameter) {
        return "there is no " + parameter + " to compute it with";
    }
    void skip_without(const std::string& parameter, const UserTensor& actual, double cost) {
        skip(actual, has_no_source(parameter), cost);
        diagnosis_.skipped.back().lacks_parameter = true;
    }

    /// True if a tensor with an unknown name and unexplained numbers should still be read as a
    /// step: later tensors follow from it, or there are no others.
    bool leads_on(const UserTensor& actual) const {
        const auto is_stray = [](const UserTensor& each) { return !each.stray.empty(); };
        const bool is_last = next_ == actual_->size() && diagnosis_.steps.empty();
        if (is_last && std::ranges::all_of(*actual_, is_stray)) return true;
        return !blocked_ && !has_row(actual.steps.front()) &&
               explains_more(actual, replay_, judge_, later());
    }

    /// Examines a tensor that no step is replayed from: it must follow from the others, or be only
    /// another form of a tensor that does.
    void examine_aside(const UserTensor& actual) {
        const std::string& step = actual.steps.front();
        const auto half = std::ranges::find_if(diagnosis_.findings, [](const Finding& finding) {
            return finding.mistake() != nullptr && !finding.harmless;
        });
        if (!blocked_ && half != diagnosis_.findings.end() && replay_.step(step) != nullptr) {
            if (settles_as_replayed(actual, step, false) || is_half(actual, step, *half)) return;
        }
        ++conflicts_;
        leave_unknown(actual, step);
    }

    /// True if a tensor is written in a way that would be harmless without the mistake.
    bool is_half(const UserTensor& actual, const std::string& step, Finding& half) {
        const Tensor correct = *replay_.step(step);
        for (const Reading& reading : readings(actual.tensor, correct)) {
            const std::optional<double> ratio = ratio_between(reading.tensor, correct);
            if (!ratio || !is_side(step) || half.mistake()->step != "scaled_scores") continue;
            diagnosis_.steps.push_back(verdict_on(actual, step, reading));
            half.evidence.push_back(actual.name + ": every number is " + brief(*ratio) +
                                    " times what it should be");
            return true;
        }
        return false;
    }

    /// True if a mistake explains a tensor better than rounding does, which may explain each cell
    /// alone, but not all of them together. Its row is then recorded.
    bool shows_mistake(const UserTensor& actual, const std::string& step, const Reading& reading) {
        constexpr double most_left = 0x1p-6, alike = 1.05;
        const Tensor* const right = blocked_ ? nullptr : replay_.step(step);
        if (right == nullptr || right->shape() != reading.tensor.shape()) return false;
        excess_ = judge_.excess(step, actual, reading.tensor, *right, uses_user_tensor_);
        if (excess_ <= unusual_excess && !judge_.rounding(actual, *right).is_half) return false;
        const Scene scene = scene_at(actual, step, false);
        std::optional<Match> match = rescaled(scene, reading);
        // A mistake of the catalogue is likelier than a number that explains as much.
        const bool is_unusual = excess_ > unusual_excess;
        const auto left = [&](const Match& some) {
            const auto result = replay_.step_with({some.finding.mistake()}, step);
            return scene.share_left(reading.tensor, *result);
        };
        const double most = std::max(is_unusual ? most_left : 0, match ? alike * left(*match) : 0);
        if (most > 0) {
            if (auto known = hidden_by_rounding(scene, reading, most)) match = std::move(known);
        }
        if (!match && is_unusual) {
            match = numbered(scene);
            if (match && left(*match) > most) match.reset();
        }
        if (!match) return false;
        enter(actual, step, std::move(*match));
        StepVerdict& verdict = diagnosis_.steps.back();
        verdict.global = verdict.local = Verdict::wrong;
        results_are_wrong_ = true;
        return true;
    }

    /// True if the replay gives this tensor, in some layout; its row is then recorded.
    bool settles_as_replayed(const UserTensor& actual, const std::string& step, bool takes) {
        if (replay_.step(step) == nullptr) return false;
        const Tensor local = *replay_.step(step);
        const Tensor* key = step == "rotary_key" ? replay_.step("rotated_key") : nullptr;
        const auto reading = judge_.reading_as(actual, step, local, key, uses_user_tensor_);
        if (!reading) return false;
        if (takes && shows_mistake(actual, step, *reading)) return true;
        takes ? settle(actual, step, *reading)
              : diagnosis_.steps.push_back(verdict_on(actual, step, *reading));
        return true;
    }

    /// True if it follows from the user's earlier tensors in its own layout.
    bool follows_as_it_is(const UserTensor& actual, const std::string& step) {
        const Tensor* local = blocked_ ? nullptr : replay_.step(step);
        if (local == nullptr || local->shape() != actual.tensor.shape()) return false;
        const Tensor as_it_is = readings(actual.tensor, *local).front().tensor;
        return judge_(step, actual, as_it_is, *local, uses_user_tensor_).right();
    }

    /// True if it is right, follows from the user's earlier tensors or has a known mistake; records
    /// which.
    bool is_explained(const UserTensor& actual) {
        const auto right = [&](const std::string& step) {
            const std::optional<Reading> reading = judge_.right_reading(actual, step);
            if (!reading) return false;
            if (!reading->layout.empty() && follows_as_it_is(actual, step)) return false;
            // The same numbers in another order are either a layout, or a mistake that later steps
            // inherit.
            if (!reading->layout.empty() && !blocked_ && later_is_wrong()) {
                if (std::optional<Match> match = rather_mistaken(actual, step, *reading)) {
                    enter(actual, step, std::move(*match));
                    return true;
                }
            }
            if (!shows_mistake(actual, step, *reading)) settle(actual, step, *reading);
            return true;
        };
        const auto inherited = [&](const std::string& step) {
            return settles_as_replayed(actual, step, true);
        };
        // A tensor that follows from right ones is right. The bound of a single step is the
        // tightest.
        const auto follows = [&](const std::string& step) {
            const Tensor* const local = replay_.step(step);
            if (local == nullptr) return false;
            for (const Reading& reading : readings(actual.tensor, *local)) {
                if (!reading.layout.empty() && later_is_wrong()) return false;
                const Judged answer =
                    judge_(step, actual, reading.tensor, *local, uses_user_tensor_);
                if (!answer.right()) continue;
                if (!shows_mistake(actual, step, reading)) {
                    settle(actual, step, reading, answer, true);
                }
                return true;
            }
            return false;
        };
        if (!blocked_ && all_is_right_so_far(actual) &&
            std::ranges::any_of(actual.steps, follows)) {
            return true;
        }
        // The bound for 16 bits over the whole walk may be wider than a mistake in its last step.
        const bool is_far = judge_.epsilon_of(actual) != 0 && uses_user_tensor_ && !blocked_;
        if (is_far && std::ranges::any_of(actual.steps, inherited)) return true;
        if (!is_far && std::ranges::any_of(actual.steps, right)) return true;
        if (blocked_) return false;  // it follows from tensors that cannot be replayed
        return (!is_far && std::ranges::any_of(actual.steps, inherited)) ||
               find_mistake_at(actual, actual.steps.front());
    }

    Scene scene_at(const UserTensor& actual, const std::string& step, bool only_harmless) {
        return {case_,
                judge_,
                replay_,
                actual,
                step,
                uses_user_tensor_,
                later(),
                only_harmless,
                [this](const Mistake& mistake) { return is_refuted(case_, diagnosis_, mistake); }};
    }

    bool find_mistake_at(const UserTensor& actual, const std::string& step) {
        if (replay_.step(step) == nullptr) return false;
        if (!actual.stray.empty() && has_row(step)) return false;
        const bool stays_wrong =
            later_is_wrong() || (!actual.is_right && is_result_step(case_.plan, step));
        const bool spares = bound_ - cost_ > cost::mistake || !stays_wrong;
        SearchResult found = searched(scene_at(actual, step, !spares));
        if (!found.match) {
            unexplained_ = std::move(found.unexplained);
            return false;
        }
        enter(actual, step, *std::move(found.match));
        return true;
    }

    /// True if most cells are right, as if one was typed wrongly.
    static bool is_slip(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
        if (actual.shape() != expected.shape()) return false;
        std::size_t wrong = 0;
        each_number(actual, [&](std::size_t i, double cell) {
            const double right = expected.at(i);
            const double near = tolerance.absolute + tolerance.relative * std::abs(right);
            wrong += same_number(cell, right) || std::abs(cell - right) <= near ? 0 : 1;
        });
        return 2 * wrong < actual.size();
    }

    void leave_unknown(const UserTensor& actual, const std::string& step) {
        const Tensor* local = blocked_ ? nullptr : replay_.step(step);
        const Tensor expected = local != nullptr ? *local : judge_.reference()[step];
        Reading reading{actual.tensor, ""};
        if (std::vector<Reading> ways = readings(actual.tensor, expected); !ways.empty()) {
            reading = ways.front();
        }
        std::optional<Judged> answer;
        // After a tensor that could not be replayed from, the step at fault is unknown.
        if (!blocked_) {
            if (is_too_dear(cost::slip)) {
                diagnosis_.findings.push_back(unexplained_);
                return;
            }
            answer = judge_(step, actual, reading.tensor, expected, uses_user_tensor_,
                            {.in_full = true});
            const auto is_ratio = [](const std::string& line) { return line.starts_with("every"); };
            if (answer->slope && std::ranges::none_of(unexplained_.evidence, is_ratio)) {
                unexplained_.evidence.push_back(answer->slope->text());
            }
            diagnosis_.findings.push_back(unexplained_);
            diagnosis_.findings.back().is_slip =
                is_slip(reading.tensor, expected,
                        judge_.tolerance(step, actual, expected, uses_user_tensor_));
            outcome_.follow[step] = [&about = case_, actual, step, tensor = reading.tensor,
                                     replay = replay_](Finding& finding) mutable {
                follow_a_rule(about, actual, step, tensor, replay, finding);
            };
        }
        settle(actual, step, reading, answer);
    }

    Outcome outcome_;
    double cost_;  ///< a lower bound of that of the reading
    double bound_;
    Finding unexplained_;  ///< of the current tensor, for the case that nothing explains it
};

std::optional<Outcome> examined(const Case& about, const std::vector<UserTensor>& actual,
                                double bound, std::vector<Fork>& forks, const Examiner* before) {
    if (cost_of({}, actual) >= bound) return std::nullopt;
    std::optional<Examiner> begun = before != nullptr ? before->of(actual, bound) : std::nullopt;
    if (!begun) begun.emplace(about, actual, bound);
    return begun->examine(forks);
}

}  // namespace attn
