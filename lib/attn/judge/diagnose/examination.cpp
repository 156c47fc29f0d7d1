#include "attn/judge/diagnose/examination.hpp"

#include <algorithm>

namespace attn {

Examination::Examination(const Case& about, const std::vector<UserTensor>& actual)
    : case_(about),
      judge_(about.judge),
      replay_(about.replay),
      actual_(std::make_shared<const std::vector<UserTensor>>(actual)) {}

bool Examination::later_is_wrong() const {
    return std::ranges::any_of(later(), [](const UserTensor& actual) {
        return actual.steps.front() != "mask" && !actual.is_right;
    });
}

bool Examination::has_row(const std::string& step) const {
    return std::ranges::find(diagnosis_.steps, step, &StepVerdict::name) != diagnosis_.steps.end();
}

bool Examination::all_is_right_so_far(const UserTensor& actual) const {
    return diagnosis_.findings.empty() && judge_.epsilon_of(actual) == 0 &&
           !judge_.ignores_hidden() &&
           std::ranges::all_of(diagnosis_.steps, [](const StepVerdict& step) {
               return step.global == Verdict::right;
           });
}

StepVerdict Examination::verdict_on(const UserTensor& actual, const std::string& step,
                                    const Reading& reading, std::optional<Judged>& local,
                                    bool is_right) {
    StepVerdict verdict = row_of(judge_, actual, step);
    verdict.layout += (verdict.layout.empty() ? "" : ", ") + reading.layout;
    if (verdict.layout.ends_with(", ")) verdict.layout.resize(verdict.layout.size() - 2);
    const Tensor* reference = judge_.reference().find(step);
    if (reference != nullptr && is_right) {
        verdict.global_difference = judged(reading.tensor, *reference, {}).difference;
    } else if (reference != nullptr) {
        const Depth depth{.in_full = judge_.epsilon_of(actual) != 0, .enough = HUGE_VAL};
        const Judged answer = judge_(step, actual, reading.tensor, *reference, false, depth);
        verdict.global = answer.verdict;
        verdict.global_difference = answer.difference;
        verdict.is_systematic = answer.slope.has_value();
    }
    // The widest rounding over all steps does not make an earlier difference harmless.
    const auto hides_difference = [&] {
        return !diagnosis_.findings.empty() &&
               judge_.excess(step, actual, reading.tensor, *reference, false) > unusual_excess;
    };
    results_are_wrong_ =
        results_are_wrong_ ||
        (is_result_step(case_.plan, step) && reference != nullptr &&
         (verdict.global == Verdict::right
              ? hides_difference()
              : !judge_.right_where_read(step, actual, reading.tensor, *reference, false)));
    if (blocked_) {
        verdict.local = Verdict::not_compared;
    } else if (const Tensor* expected = replay_.step(step)) {
        if (!local) {
            local = judge_(step, actual, reading.tensor, *expected, uses_user_tensor_,
                           {.in_full = true});
        }
        verdict.local = local->verdict;
        verdict.local_difference = local->difference;
        verdict.within = local->within;
    }
    return verdict;
}

void Examination::settle(const UserTensor& actual, const std::string& step, const Reading& reading,
                         std::optional<Judged> local, bool is_right) {
    StepVerdict verdict = verdict_on(actual, step, reading, local, is_right);
    const auto other = std::ranges::find(diagnosis_.steps, step, &StepVerdict::name);
    if (other != diagnosis_.steps.end() &&
        (other->global != Verdict::right || verdict.global != Verdict::right)) {
        ++conflicts_;
    }
    // A tensor that equals the reference is right, whatever rounding bounds its replay has.
    if (!blocked_ && verdict.global == Verdict::right &&
        (judge_.epsilon_of(actual) == 0 || !uses_user_tensor_)) {
        follows_user_ = follows_user_ && verdict.local == Verdict::right;
        verdict.local = Verdict::right;
    }
    verdict.excess = excess_;
    note_kept(verdict, diagnosis_);
    diagnosis_.steps.push_back(std::move(verdict));
    if (!actual.aside) take(step, reading.tensor);
}

/// Replays only from a tensor that has the replay's own shape and type.
void Examination::take(const std::string& step, const Tensor& tensor) {
    const Tensor* correct = replay_.step(step);
    if (correct == nullptr || correct->shape() != tensor.shape() ||
        correct->dtype() != tensor.dtype()) {
        blocked_ = true;
        return;
    }
    replay_.take(step, tensor);
    judge_.take(step, tensor);
    uses_user_tensor_ = true;
}

void Examination::enter(const UserTensor& actual, const std::string& step, Match match) {
    std::optional<Judged> answer;
    diagnosis_.steps.push_back(verdict_on(actual, step, match.reading, answer));
    // With few digits each cell passes on its own, but a common factor in all of them does not.
    if (answer && answer->slope && is_result_step(case_.plan, step)) results_are_wrong_ = true;
    for (const Mistake* cause : match.finding.applied()) {
        replay_.make(*cause);
        if (cause->rewrites_result) judge_.accept(*cause);
    }
    take(step, match.reading.tensor);
    diagnosis_.findings.push_back(std::move(match.finding));
}

void Examination::enter_mask(const UserTensor& actual) {
    const MaskAnswer answer = answer_of_mask(case_.plan, judge_, replay_, actual, later());
    StepVerdict verdict = row_of(judge_, actual, "mask");
    verdict.layout = answer.layout;
    verdict.global = verdict.local = answer.right ? Verdict::right : Verdict::wrong;
    verdict.global_difference = verdict.local_difference = answer.right ? 0 : 1;
    diagnosis_.steps.push_back(verdict);
    if (!answer.finding) return;
    diagnosis_.findings.push_back(*answer.finding);
    if (answer.right) return;
    if (answer.finding->mistake() != nullptr) return replay_.make(*answer.finding->mistake());
    if (answer.hidden) take("mask", *answer.hidden);
}

}  // namespace attn
