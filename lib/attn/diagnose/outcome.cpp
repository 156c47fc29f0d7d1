#include <algorithm>

#include "attn/diagnose/search.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/rules/print.hpp"

// The cost of a reading of all tensors, and its harmless part.

namespace attn {
namespace {

std::string find_drawn_for(const Case& about, const std::string& step) {
    if (about.plan.config.parameters.entries().empty() && !about.options.takes_projections) {
        return {};
    }
    Plan plan = about.plan;
    ++plan.config.seed;
    const Ledger drawn = draw(plan);
    for (const auto& [name, tensor] : drawn.entries()) {
        const bool is_said = judged(tensor, about.intake.given[name], {}).right();
        if (is_said || find_step(step_table(), name).kind != Step::Kind::parameter) continue;
        Ledger given = about.intake.given;
        given.record(name, tensor);
        Replay again(about.plan, std::move(given));
        const Tensor* made = again.step(step);
        if (made && !judged(*made, about.judge.reference()[step], {}).right()) return name;
    }
    return {};
}

}  // namespace

bool is_unjudged(const StepVerdict& step) {
    return step.local == Verdict::not_compared && step.global != Verdict::right;
}

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
        if (is_unjudged(step)) cost += of_unjudged;
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

void fold_halves(Diagnosis& diagnosis) {
    std::vector<Finding>& all = diagnosis.findings;
    const auto find = [&](std::string_view id) {
        return std::ranges::find_if(all, [id](const Finding& each) {
            return each.mistake != nullptr && each.mistake->id.ends_with(id);
        });
    };
    const auto half = find("-scaled-first"), whole = find("scale-twice");
    if (half == all.end() || whole == all.end()) return;
    whole->evidence.push_back(half->step + ": " + half->mistake->title);
    all.erase(half);
}

std::string drawn_for(const Case& about, const std::string& step) {
    const auto [known, is_new] = about.drawn.try_emplace(step);
    if (is_new) known->second = find_drawn_for(about, step);
    return known->second;
}

bool have_same_product(const Case& about, Replay& theirs) {
    for (const char* id : {"rope-missing", "rope-q-only"}) {
        Replay ours = about.replay;
        if (about.plan.rotates()) ours.make(find_mistake(id));
        Replay other = ours;
        for (const char* side : {"rotary_key", "query", "key"}) {
            if (const Tensor* tensor = theirs.step(side)) other.take(side, *tensor);
        }
        const Tensor* product = other.step("scores");
        for (const Tensor* right : {ours.step("scores"), about.judge.reference().find("scores")}) {
            if (product && about.judge("scores", {}, *product, *right, true).right()) return true;
        }
    }
    return false;
}

bool is_refuted(const Case& about, const Diagnosis& diagnosis, const Mistake& mistake) {
    Replay replay = about.replay;
    for (const Finding& finding : diagnosis.findings) {
        if (finding.mistake != nullptr) replay.make(*finding.mistake);
    }
    return std::ranges::any_of(diagnosis.steps, [&](const StepVerdict& each) {
        if (each.global != Verdict::right || each.name == "mask") return false;
        const std::optional<Tensor> wrong = replay.step_with({&mistake}, each.name);
        const Tensor& right = about.judge.reference()[each.name];
        return wrong && !about.judge(each.name, {}, *wrong, right, false).right();
    });
}

Case::Case(const Plan& walked, const DiagnoseOptions& asked, Intake taken, double epsilon)
    : plan(walked),
      options(asked),
      intake(std::move(taken)),
      judge(plan, intake.given, options),
      replay(plan, intake.given),
      screens(Screen::of(plan, intake.given, judge.reference())) {
    judge.loosen(epsilon);
    for (const auto& [all, entries] :
         {std::pair{&attn::mistakes(), &mistakes}, std::pair{&harmless_differences(), &harmless}}) {
        for (const Mistake& entry : *all) {
            if (entry.applies(plan)) entries->push_back(&entry);
        }
    }
}

}  // namespace attn
