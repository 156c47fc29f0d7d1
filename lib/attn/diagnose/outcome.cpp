#include <algorithm>

#include "attn/diagnose/examiner.hpp"
#include "attn/diagnose/mutations.hpp"
#include "attn/rules/print.hpp"

// What a reading of all tensors costs, and what of it is harmless.

namespace attn {

double weight_of(const Finding& finding) {
    if (finding.mistake == nullptr) return finding.follows.empty() ? of_unknown : of_mutation;
    if (finding.harmless) return of_harmless;
    const int beside = (finding.beside ? 1 : 0) + (finding.also_beside ? 1 : 0);
    return of_mistake * (finding.second ? 2 : 1) + of_harmless * beside;
}

double cost_of(const Diagnosis& diagnosis, const std::vector<TheirTensor>& theirs) {
    double cost = of_unjudged * static_cast<double>(diagnosis.skipped.size());
    for (const TheirTensor& each : theirs) {
        cost += of_later_name * static_cast<double>(each.rank) + (each.aside ? of_aside : 0);
    }
    for (const Finding& finding : diagnosis.findings) cost += weight_of(finding);
    for (const StepVerdict& step : diagnosis.steps) {
        const bool unjudged = step.local == Verdict::not_compared && step.global != Verdict::right;
        if (unjudged) cost += of_unjudged;
    }
    return cost;
}

bool is_result_step(const std::string& step) {
    return place_of(step_table(), step) >= place_of(step_table(), "weights");
}

void note_saved_before(const Case& about, const TheirTensor& theirs, const std::string& step,
                       Replay& replay, Match& match) {
    const StepTable& table = step_table(about.plan);
    for (const std::string& before : steps_called(theirs.name, about.plan)) {
        const Tensor* right = replay.step(before);
        if (!right || replay.is_given(before) || place_of(table, before) >= place_of(table, step) ||
            !about.judge(before, theirs, match.reading.tensor, *right, true).right()) {
            continue;
        }
        match.finding.evidence.push_back(theirs.name + " is the right " + before +
                                         ": if you saved it before " + step +
                                         " was made of it, nothing is wrong");
    }
}

void follow_a_rule(const Case& about, const TheirTensor& theirs, const std::string& step,
                   const Tensor& tensor, Replay& replay, Finding& finding) {
    const StepTable& table = step_table(about.plan);
    Ledger before = about.intake.given;
    for (const Step& each : table) {
        if (each.name == step) break;
        const Tensor* made = each.applies(about.plan) ? replay.step(each.name) : nullptr;
        if (made != nullptr) before.record(each.name, *made);
    }
    const PlannedStep of{about.plan, table, find_step(table, step)};
    const auto is_theirs = [&](const Tensor& made) {
        return about.judge(step, theirs, tensor, made, true).right();
    };
    const std::optional<Mutation> found = mutation_behind(tensor, of, before, is_theirs);
    if (!found) return;
    finding.follows = rule_text(found->rule);
    finding.followed_by = found->kind;
}

void mark_if_harmless(Finding& finding, Diagnosis& diagnosis, bool undone) {
    bool right = true;
    bool judged = false, after = false, behind_scores = false;
    for (const StepVerdict& verdict : diagnosis.steps) {
        behind_scores = behind_scores || is_result_step(verdict.name);
        after = after || verdict.name == finding.step;
        if (!after || !behind_scores) continue;
        judged = true;
        right = right && verdict.global == Verdict::right;
    }
    if (finding.mistake == nullptr && undone && judged && right) {
        finding.mistake = &find_mistake("same-scores");
        finding.replayed = false;
        finding.difference = 0;
    }
    if (finding.mistake != nullptr && judged && right) finding.harmless = true;
    for (StepVerdict& verdict : diagnosis.steps) {
        if (verdict.name == finding.step && finding.harmless) verdict.harmless = true;
    }
}

}  // namespace attn
