#include "attn/diagnose/diagnose.hpp"

#include <algorithm>

#include "attn/diagnose/intake.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/diagnose/search.hpp"

namespace attn {
namespace {

/// Replays a walk from somebody's own tensors and compares the outcome with what they have.
class Examiner {
public:
    Examiner(const Plan& plan, const Ledger& given, const Ledger& theirs,
             const DiagnoseOptions& options)
        : plan_(plan),
          options_(options),
          intake_(taken_in(plan, given, theirs, options)),
          judge_(plan, intake_.given, options),
          replay_(plan, intake_.given),
          theirs_(their_tensors(plan, judge_, intake_.theirs, options, diagnosis_.skipped)) {
        if (theirs_.empty()) refuse_tensors(theirs, judge_.reference());
        diagnosis_.remarks = std::move(intake_.remarks);
        for (std::string& remark : remarks_on(theirs_, plan, judge_.reference())) {
            diagnosis_.remarks.push_back(std::move(remark));
        }
    }

    Diagnosis examine() {
        for (next_ = 0; next_ < theirs_.size();) {
            const TheirTensor& theirs = theirs_[next_++];
            theirs.steps.front() == "mask" ? examine_mask(theirs) : examine_step(theirs);
        }
        for (Finding& finding : diagnosis_.findings) mark_if_harmless(finding);
        return std::move(diagnosis_);
    }

private:
    StepVerdict row(const TheirTensor& theirs, const std::string& step) const {
        StepVerdict verdict;
        verdict.name = step;
        verdict.theirs_name = theirs.name;
        verdict.theirs = theirs.tensor.shape();
        const Tensor* reference = judge_.reference().find(step);
        if (reference != nullptr) verdict.expected = reference->shape();
        return verdict;
    }

    /// Whether some tensor that comes after holds none of the right numbers.
    bool later_is_wrong() const {
        return std::any_of(theirs_.begin() + static_cast<std::ptrdiff_t>(next_), theirs_.end(),
                           [&](const TheirTensor& theirs) {
                               const std::string& step = theirs.steps.front();
                               return step != "mask" && !judge_.right_reading(theirs, step);
                           });
    }

    /// The mistake that makes this tensor, where that explains more of what follows than its layout
    /// does.
    std::optional<Match> rather_mistaken(const TheirTensor& theirs, const std::string& step,
                                         const Reading& reading) {
        if (replay_.step(step) == nullptr) return std::nullopt;
        const auto later = std::span<const TheirTensor>(theirs_).subspan(next_);
        std::optional<Match> match = search(theirs, step).best(later);
        if (!match || match->finding.harmless) return std::nullopt;
        Replay mistaken = replay_;
        mistaken.make(*match->finding.mistake);
        const Tensor* ours = mistaken.step(step);
        if (ours != nullptr && ours->shape() == match->reading.tensor.shape()) {
            mistaken.take(step, match->reading.tensor);
        }
        Replay laid_out = replay_;
        laid_out.take(step, reading.tensor);
        const bool more = explained_by(std::move(mistaken), judge_, later) >
                          explained_by(std::move(laid_out), judge_, later);
        return more ? std::move(match) : std::nullopt;
    }

    void examine_step(const TheirTensor& theirs) {
        unexplained_ = Finding();
        unexplained_.step = theirs.steps.front();
        bool found = is_explained(theirs);
        if (!found && judge_.may_look_away(theirs)) {
            judge_.look_away(true);
            found = is_explained(theirs);
            judge_.look_away(false);
        }
        if (found) return;
        const std::string drawn = drawn_for(theirs.steps.front());
        if (!drawn.empty()) {
            diagnosis_.skipped.push_back(
                {theirs.name, "there is no " + drawn + " to make it with"});
            return;
        }
        const bool is_projected = !plan_.config.output_projection &&
                                  !options_.steps.contains(theirs.name) &&
                                  names_a_result(theirs.name);
        const std::string reason = "there is no w_output to make it with";
        if (is_projected && !diagnosis_.steps.empty()) {
            diagnosis_.skipped.push_back({theirs.name, reason});
            return;
        }
        if (is_projected) unexplained_.evidence.push_back("if it is projected: " + reason);
        leave_unknown(theirs, theirs.steps.front());
    }

    /// The first parameter that the step needs and nobody gave, where they gave others: its numbers
    /// are chance, so another seed makes another step.
    std::string drawn_for(const std::string& step) const {
        if (plan_.config.parameters.entries().empty() && !options_.takes_projections) return {};
        Plan plan = plan_;
        ++plan.config.seed;
        const Ledger drawn = draw(plan);
        for (const auto& [name, tensor] : drawn.entries()) {
            if (find_step(step_table(), name).kind != Step::Kind::parameter) continue;
            Ledger given = intake_.given;
            given.record(name, tensor);
            Replay again(plan_, std::move(given));
            const Tensor* made = again.step(step);
            if (made && !judged(*made, judge_.reference()[step], {}).right()) return name;
        }
        return {};
    }

    /// Whether it is right, follows from theirs before it or has a known mistake; enters which.
    bool is_explained(const TheirTensor& theirs) {
        const auto right = [&](const std::string& step) {
            const std::optional<Reading> reading = judge_.right_reading(theirs, step);
            if (!reading) return false;
            // The same numbers in another order may be a layout, or a mistake that goes on.
            if (!reading->layout.empty() && !blocked_ && later_is_wrong()) {
                if (std::optional<Match> match = rather_mistaken(theirs, step, *reading)) {
                    enter(theirs, step, std::move(*match));
                    return true;
                }
            }
            settle(theirs, step, *reading);
            return true;
        };
        const auto inherited = [&](const std::string& step) {
            const Tensor* local = replay_.step(step);
            if (local == nullptr) return false;
            for (const Reading& reading : readings(theirs.tensor, *local)) {
                if (!judge_(step, theirs, reading.tensor, *local, uses_theirs_).right()) continue;
                settle(theirs, step, reading);
                return true;
            }
            return false;
        };
        for (const std::string& step : theirs.steps) {
            if (right(step)) return true;
        }
        if (blocked_) return false;  // what it follows from is not known
        for (const std::string& step : theirs.steps) {
            if (inherited(step)) return true;
        }
        for (const std::string& step : theirs.steps) {
            // Weights go by a name that scores had before, but only right scores are taken for it.
            if (theirs.steps.front() == "weights" && step != "weights") break;
            if (find_mistake_at(theirs, step)) return true;
        }
        return false;
    }

    /// The verdict on a tensor as it was read.
    StepVerdict verdict_on(const TheirTensor& theirs, const std::string& step,
                           const Reading& reading) {
        StepVerdict verdict = row(theirs, step);
        verdict.layout = reading.layout;
        const auto compare = [&](const Tensor* expected, bool local, Verdict& word,
                                 double& number) {
            if (expected == nullptr) return;
            const Judged answer = judge_(step, theirs, reading.tensor, *expected, local);
            word = answer.verdict;
            number = answer.difference;
        };
        compare(judge_.reference().find(step), false, verdict.global, verdict.global_difference);
        if (blocked_) {
            verdict.local = Verdict::not_compared;
        } else {
            compare(replay_.step(step), uses_theirs_, verdict.local, verdict.local_difference);
        }
        return verdict;
    }

    /// Enters the verdict, and lets what follows be replayed from the tensor.
    void settle(const TheirTensor& theirs, const std::string& step, const Reading& reading) {
        StepVerdict verdict = verdict_on(theirs, step, reading);
        // What equals the reference is right, whatever rounding says of the way there.
        if (!blocked_ && verdict.global == Verdict::right) {
            undone_ = undone_ && verdict.local == Verdict::right;
            verdict.local = Verdict::right;
        }
        diagnosis_.steps.push_back(std::move(verdict));
        take(step, reading.tensor);
    }

    /// What a replay reads has the shape and type of its own tensor.
    void take(const std::string& step, const Tensor& tensor) {
        const Tensor* ours = replay_.step(step);
        if (ours == nullptr || ours->shape() != tensor.shape() || ours->dtype() != tensor.dtype()) {
            blocked_ = true;
            return;
        }
        replay_.take(step, tensor);
        uses_theirs_ = true;
    }

    /// Whether something of theirs is right that would be wrong with this mistake.
    bool is_refuted(const Mistake& mistake) const {
        Replay replay(plan_, intake_.given);
        for (const Finding& finding : diagnosis_.findings) {
            if (finding.mistake != nullptr) replay.make(*finding.mistake);
        }
        return std::ranges::any_of(diagnosis_.steps, [&](const StepVerdict& each) {
            if (each.global != Verdict::right || each.name == "mask") return false;
            const std::optional<Tensor> wrong = replay.step_with({&mistake}, each.name);
            const Tensor& right = judge_.reference()[each.name];
            return wrong && !judge_(each.name, theirs_.front(), *wrong, right, false).right();
        });
    }

    Search search(const TheirTensor& theirs, const std::string& step) {
        if (!candidates_) {
            candidates_.emplace(plan_);
            candidates_->refuted = [this](const Mistake& mistake) { return is_refuted(mistake); };
        }
        return {plan_, *candidates_, judge_, replay_, options_, theirs, step, uses_theirs_};
    }

    bool find_mistake_at(const TheirTensor& theirs, const std::string& step) {
        if (replay_.step(step) == nullptr) return false;
        Search looking = search(theirs, step);
        std::optional<Match> match = looking.best(std::span(theirs_).subspan(next_));
        if (match) {
            enter(theirs, step, std::move(*match));
        } else if (step == theirs.steps.front()) {
            unexplained_ = looking.unexplained();
        }
        return match.has_value();
    }

    /// Enters what was found, and makes the mistake in all that follows.
    void enter(const TheirTensor& theirs, const std::string& step, Match match) {
        // Where nothing turns what is unknown already, it was the turned one that was saved.
        const bool unturned = match.finding.mistake->step.starts_with("rotated_");
        const auto turn = [&](Finding& finding) {
            const bool side = finding.step == "query" || finding.step == "key";
            if (!unturned || finding.mistake != nullptr || !side) return false;
            finding.step.insert(0, "rotated_");
            return true;
        };
        if (std::ranges::count_if(diagnosis_.findings, turn) > 0) {
            diagnosis_.steps.push_back(verdict_on(theirs, step, match.reading));
            return take(step, match.reading.tensor);
        }
        // Their name may stand for a step before this one, which the numbers are.
        for (const std::string& before : steps_called(theirs.name, plan_)) {
            const StepTable& table = step_table(plan_);
            const Tensor* right = replay_.step(before);
            if (!right || replay_.is_given(before) ||
                place_of(table, before) >= place_of(table, step) ||
                !judge_(before, theirs, match.reading.tensor, *right, uses_theirs_).right())
                continue;
            match.finding.evidence.push_back(theirs.name + " is the right " + before +
                                             ": if you saved it before " + step +
                                             " was made of it, nothing is wrong");
        }
        diagnosis_.steps.push_back(verdict_on(theirs, step, match.reading));
        for (const Mistake* made : {match.finding.beside, match.finding.also_beside,
                                    match.finding.mistake, match.finding.second}) {
            if (made == nullptr) continue;
            replay_.make(*made);
            if (made->rewrites_result) judge_.accept(*made);
        }
        take(step, match.reading.tensor);
        diagnosis_.findings.push_back(std::move(match.finding));
    }

    void leave_unknown(const TheirTensor& theirs, const std::string& step) {
        const Tensor* reference = judge_.reference().find(step);
        const Tensor* local = blocked_ ? nullptr : replay_.step(step);
        const Tensor& expected = local != nullptr ? *local : *reference;
        const std::vector<Reading> ways = readings(theirs.tensor, expected);
        const Tensor tensor = ways.empty() ? theirs.tensor : ways.front().tensor;
        // Behind a tensor that could not be replayed, it is not known where the fault lies.
        if (!blocked_) diagnosis_.findings.push_back(unexplained_);
        settle(theirs, step, {tensor, ways.empty() ? "" : ways.front().layout});
    }

    void examine_mask(const TheirTensor& theirs);

    /// Whether their query and key, some of them rotated already, have the product of ours.
    bool have_same_product() {
        for (const char* id : {"rope-missing", "rope-q-only"}) {
            Replay ours(plan_, intake_.given);
            if (plan_.rotates()) ours.make(find_mistake(id));
            Replay other = ours;
            for (const char* side : {"rotary_key", "query", "key"}) {
                if (const Tensor* tensor = replay_.step(side)) other.take(side, *tensor);
            }
            const Tensor* product = other.step("scores");
            for (const Tensor* right : {ours.step("scores"), judge_.reference().find("scores")}) {
                const TheirTensor& any = theirs_.front();
                if (product && judge_("scores", any, *product, *right, true).right()) return true;
            }
        }
        return false;
    }

    /// True when this step differs and the weights and everything after them are right all the
    /// same.
    void mark_if_harmless(Finding& finding) {
        bool right = true;
        bool judged = false, after = false, behind_scores = false;
        for (const StepVerdict& verdict : diagnosis_.steps) {
            const StepTable& table = step_table(plan_);
            behind_scores =
                behind_scores || place_of(table, verdict.name) >= place_of(table, "weights");
            after = after || verdict.name == finding.step;
            if (!after || !behind_scores) continue;
            judged = true;
            right = right && verdict.global == Verdict::right;
        }
        // Whatever was done to query and key alike: their product is what counts.
        const bool is_side = finding.step.ends_with("query") || finding.step.ends_with("key");
        const bool is_first = find_step(step_table(), finding.step).chain == Chain::none ||
                              finding.step == "query" || finding.step == "key";
        const bool undone = is_side && !blocked_ && (undone_ || (is_first && have_same_product()));
        if (finding.mistake == nullptr && undone && judged && right) {
            finding.mistake = &find_mistake("same-scores");
            finding.replayed = false;
            finding.difference = 0;
        }
        if (finding.mistake != nullptr && judged && right) finding.harmless = true;
        for (StepVerdict& verdict : diagnosis_.steps) {
            if (verdict.name == finding.step && finding.harmless) verdict.harmless = true;
        }
    }

    const Plan& plan_;
    const DiagnoseOptions& options_;
    Diagnosis diagnosis_;
    Intake intake_;
    Judge judge_;
    Replay replay_;
    std::optional<Candidates> candidates_;  ///< once something is wrong
    std::vector<TheirTensor> theirs_;
    std::size_t next_ = 0;  ///< the first tensor that has not been looked at
    bool uses_theirs_ = false;
    bool undone_ = true;    ///< what is right follows from theirs before it, wrong or not
    Finding unexplained_;   ///< of the tensor that is looked at, should nothing explain it
    bool blocked_ = false;  ///< something of theirs could not be replayed, so what follows cannot
};

/// Masks are compared cell by cell after broadcasting, in whichever words they are written; a part
/// of ours alone (the causal one, the padding) is right too.
void Examiner::examine_mask(const TheirTensor& theirs) {
    const MaskSearch search(plan_, judge_, replay_, theirs);
    StepVerdict verdict = row(theirs, "mask");
    const MaskAnswer answer = search.answer(std::span(theirs_).subspan(next_));
    verdict.layout = answer.layout;
    verdict.global = verdict.local = answer.right ? Verdict::right : Verdict::wrong;
    verdict.global_difference = verdict.local_difference = answer.right ? 0 : 1;
    diagnosis_.steps.push_back(verdict);
    if (!answer.finding) return;
    if (answer.finding->mistake != nullptr && !answer.right) {
        replay_.make(*answer.finding->mistake);
    } else if (!answer.right && answer.hidden) {
        take("mask", *answer.hidden);
    }
    diagnosis_.findings.push_back(*answer.finding);
}

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
    return Examiner(plan, given, theirs, options).examine();
}

}  // namespace attn
