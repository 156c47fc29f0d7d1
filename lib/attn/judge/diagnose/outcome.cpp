#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "attn/core/plan/draw_list.hpp"
#include "attn/judge/diagnose/search.hpp"

// The cost of a reading of all tensors, and which findings are harmless.

namespace attn {

std::string drawn_for(const Case& about, const std::string& step) {
    if (about.plan.config.parameters.entries().empty() && !about.options.takes_projections) {
        return {};
    }
    Plan plan = about.plan;
    ++plan.config.seed;
    const Ledger drawn = draw(plan);
    for (const auto& [name, tensor] : drawn.entries()) {
        const bool is_specified = same_cells(tensor, about.intake.given[name]);
        if (is_specified || find_step(kept_table(plan), name).kind != Step::Kind::parameter)
            continue;
        Ledger given = about.intake.given;
        given.record(name, tensor);
        Replay again(about.plan, std::move(given));
        const Tensor* produced = again.step(step);
        if (produced && !same_cells(*produced, about.judge.reference()[step])) return name;
    }
    return {};
}

bool is_side(const std::string& step) {
    return (step.ends_with("query") || step.ends_with("key")) && kept_step(step) == nullptr;
}

/// True if the step rotates both query and key: the same change to both leaves their product.
bool turns_both(const std::string& step) {
    constexpr std::array steps{"positions", "inverse_frequencies", "angles", "cos", "sin"};
    return std::ranges::count(steps, step) > 0;
}

bool explains_more(const UserTensor& actual, const Replay& replay, const Judge& judge,
                   std::span<const UserTensor> later) {
    const std::string& step = actual.steps.front();
    const Tensor* expected = judge.reference().find(step);
    if (expected == nullptr) return false;
    const std::vector<Reading> ways = readings(actual.tensor, *expected);
    return !ways.empty() && count_explained(replay, nullptr, step, ways.front().tensor, judge,
                                            later) > explained_by(replay, judge, later);
}

StepVerdict row_of(const Judge& judge, const UserTensor& actual, const std::string& step) {
    StepVerdict verdict;
    verdict.name = step;
    verdict.name_in_file = actual.name;
    verdict.actual = actual.tensor.shape();
    verdict.epsilon = actual.epsilon;
    if (const KeptStep* kept = kept_step(step)) verdict.layout = kept->words;
    if (const Tensor* reference = judge.reference().find(step)) {
        verdict.expected = reference->shape();
    }
    return verdict;
}

void note_kept(const StepVerdict& verdict, Diagnosis& diagnosis) {
    const KeptStep* const kept = kept_step(verdict.name);
    if (!kept || kept->harmless.empty() || verdict.local != Verdict::right) return;
    Finding finding;
    finding.step = verdict.name;
    finding.add(Role::makes, &find_mistake(kept->harmless));
    finding.harmless = !kept->is_mistake;
    finding.replayed = false;
    diagnosis.findings.push_back(std::move(finding));
}

bool is_unjudged(const StepVerdict& step) {
    return step.local == Verdict::not_compared && step.global != Verdict::right;
}

/// True if the mistake has a number that was fitted to the tensor: `scale-other=3.46`.
bool is_fitted(const Mistake* mistake) {
    const std::size_t number = mistake->id.find('=') + 1;
    return number > 0 && number < mistake->id.size() &&
           std::string_view("-.0123456789").find(mistake->id[number]) != std::string_view::npos;
}

double weight_of(const Finding& finding) {
    const std::size_t makes = finding.as(Role::makes).size();
    if (makes == 0 && !finding.follows.empty()) return cost::mutation;
    if (makes == 0) return finding.is_slip ? cost::slip : cost::unknown;
    if (finding.harmless) return cost::harmless;
    const bool fits = std::ranges::any_of(finding.as(Role::makes), is_fitted);
    return cost::mistake * static_cast<double>(makes) + (fits ? cost::fitted : 0) +
           cost::harmless * static_cast<double>(finding.as(Role::beside).size());
}

double cost_of(const Diagnosis& diagnosis, const std::vector<UserTensor>& actual) {
    double cost = 0;
    for (const Skipped& skipped : diagnosis.skipped) cost += skipped.cost;
    for (const UserTensor& each : actual) {
        cost += cost::later_name * static_cast<double>(each.rank) + (each.aside ? cost::aside : 0) +
                (each.rank >= each.foreign ? cost::foreign : 0);
        const auto is_misread = [&](const Finding& finding) {
            return finding.step == each.steps.front() && weight_of(finding) >= cost::slip;
        };
        if (each.rank > 0 && std::ranges::any_of(diagnosis.findings, is_misread)) {
            cost += kept_step(each.steps.front()) != nullptr ? cost::misread_form : cost::misread;
        }
    }
    for (const Finding& finding : diagnosis.findings) cost += weight_of(finding);
    for (const StepVerdict& step : diagnosis.steps) {
        if (is_unjudged(step)) cost += cost::unjudged;
    }
    return cost;
}

bool is_result_step(const Plan& plan, const std::string& step) {
    return place_of(kept_table(plan), step) >= place_of(kept_table(plan), "weights");
}

void follow_a_rule(const Case& about, const UserTensor& actual, const std::string& step,
                   const Tensor& tensor, Replay& replay, Finding& finding) {
    constexpr std::size_t most_sums = 300'000;
    const StepTable& table = kept_table(about.plan);
    Ledger before = about.intake.given;
    for (const Step& each : table) {
        if (each.name == step) break;
        const Tensor* produced = each.applies(about.plan) ? replay.step(each.name) : nullptr;
        if (produced != nullptr) before.record(each.name, *produced);
    }
    const Tensor* right = replay.step(step);
    if (right == nullptr || right->shape() != tensor.shape()) return;
    Replay other = replay;
    std::string changed = step;
    const auto gives_theirs = [&](const std::string& produced, const Tensor& result) {
        if (produced == step) return about.judge(step, actual, tensor, result, true).right();
        const Tensor correct = *replay.step(produced);
        if (result.dtype() != correct.dtype() || same_cells(result, correct)) return false;
        if (produced != changed) {  // the rules of one step are tried one after another
            other = replay;
            changed = produced;
        }
        other.take(produced, result);
        const Tensor* outcome = other.step(step);
        return outcome != nullptr && about.judge(step, actual, tensor, *outcome, true).right();
    };
    const bool is_small = tensor.size() * about.plan.key_len <= most_sums;
    const auto may_differ = [&](const std::string& produced) {
        return is_small && find_step(table, produced).kind == Step::Kind::computed &&
               !replay.is_given(produced);
    };
    const auto found = changed_rule({about.plan, table, find_step(table, step)}, std::move(before),
                                    gives_theirs, may_differ);
    if (!found) return read_off(about.plan, step, tensor, replay, finding.evidence);
    finding.follows = found->written_rule;
    finding.followed_by = found->kind;
    if (!found->also.empty()) finding.evidence.push_back("so do they: " + found->also);
}

void mark_if_harmless(const Plan& plan, Finding& finding, Diagnosis& diagnosis, bool undone,
                      bool follows, bool results_are_wrong) {
    // A wrong tensor misleads readers even if it is only displayed.
    if (const KeptStep* shown = kept_step(finding.step); shown && shown->is_mistake) return;
    // The results follow from one tensor per step: with two, it is unknown which one.
    bool right = std::ranges::count(diagnosis.steps, finding.step, &StepVerdict::name) == 1;
    bool judged = false, after = false, has_results = false;
    for (const StepVerdict& verdict : diagnosis.steps) {
        has_results = has_results || is_result_step(plan, verdict.name);
        after = after || verdict.name == finding.step;
        if (!after || !has_results) continue;
        judged = true;
        right = right && verdict.global == Verdict::right;
    }
    if (finding.mistake() == nullptr && undone && judged && right) {
        finding.add(Role::makes, &find_mistake("same-scores"));
        finding.replayed = false;
        finding.difference = 0;
    }
    // The bound for 16 bits over the whole walk may be wider than the error of a result at its own
    // step.
    const bool is_mismatch = std::ranges::any_of(diagnosis.steps, [&](const StepVerdict& verdict) {
        return verdict.name == finding.step && is_result_step(plan, verdict.name) &&
               verdict.epsilon != 0 && verdict.local == Verdict::wrong;
    });
    const bool is_seen = finding.mistake() != nullptr && !finding.changes_weights;
    if (is_seen && judged && right && !is_mismatch) {
        // Right results that do not follow from this tensor are no evidence for it.
        finding.is_question = !follows && !finding.harmless;
        finding.harmless = !finding.is_question;
    }
    // An earlier change that a wrong result depends on is not harmless.
    if (finding.mistake() != nullptr && finding.replayed && is_result_step(plan, finding.step) &&
        !is_result_step(plan, finding.mistake()->step)) {
        finding.harmless = finding.harmless && !results_are_wrong;
    }
    for (StepVerdict& verdict : diagnosis.steps) {
        if (verdict.name == finding.step && finding.harmless) verdict.harmless = true;
    }
}

void fold_halves(Diagnosis& diagnosis) {
    std::vector<Finding>& all = diagnosis.findings;
    const auto find = [&](std::string_view id) {
        return std::ranges::find_if(all, [id](const Finding& each) {
            return each.mistake() != nullptr && each.mistake()->id.ends_with(id);
        });
    };
    const auto half = find("-scaled-first"), whole = find("scale-twice");
    if (half == all.end() || whole == all.end()) return;
    whole->evidence.push_back(half->step + ": " + half->mistake()->title.visible());
    all.erase(half);
}

bool may_be_projected(const Tensor& actual, const Tensor& merged) {
    const std::size_t width = merged.shape().back(), rows = merged.size() / width;
    if (actual.size() % rows != 0 || rows < width + 4) return true;
    std::vector<std::vector<double>> basis;
    const double unit = 8 * std::max(epsilon(actual.dtype()), epsilon(merged.dtype()));
    const double least = std::max(1e-8, unit * unit);
    const auto reduced = [&](const Tensor& from, std::size_t column) {
        const std::size_t columns = from.size() / rows;
        std::vector<double> rest(rows, 1.0);
        for (std::size_t i = 0; i < rows && column < columns; ++i) {
            rest[i] = from.at(i * columns + column);
        }
        const double all = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
        for (std::size_t i = 0; i < 2 * basis.size(); ++i) {  // twice, to reduce rounding
            const std::vector<double>& known = basis[i % basis.size()];
            const double along = std::inner_product(rest.begin(), rest.end(), known.begin(), 0.0);
            for (std::size_t row = 0; row < rows; ++row) rest[row] -= along * known[row];
        }
        const double left = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
        const bool is_computed_step = left <= least * all;
        for (double& cell : rest) cell /= std::sqrt(left);
        return std::pair(is_computed_step, std::move(rest));
    };
    for (std::size_t column = 0; column <= width; ++column) {  // the last one is the bias
        auto [is_computed_step, direction] = reduced(merged, column);
        if (!is_computed_step) basis.push_back(std::move(direction));
    }
    for (std::size_t column = 0; column < actual.size() / rows; ++column) {
        if (!reduced(actual, column).first) return false;
    }
    return true;
}

bool have_same_product(const Case& about, Replay& actual) {
    for (const char* id : {"rope-missing", "rope-q-only"}) {
        Replay correct = about.replay;
        if (about.plan.rotates()) correct.make(find_mistake(id));
        Replay other = correct;
        for (const char* side : {"rotary_key", "query", "key"}) {
            if (const Tensor* tensor = actual.step(side)) other.take(side, *tensor);
        }
        const Tensor* product = other.step("scores");
        for (const Tensor* right :
             {correct.step("scores"), about.judge.reference().find("scores")}) {
            if (product && about.judge("scores", {}, *product, *right, true).right()) return true;
        }
    }
    return false;
}

bool is_refuted(const Case& about, const Diagnosis& diagnosis, const Mistake& mistake) {
    Replay replay = about.replay;
    for (const Finding& finding : diagnosis.findings) {
        if (finding.mistake() != nullptr) replay.make(*finding.mistake());
    }
    return std::ranges::any_of(diagnosis.steps, [&](const StepVerdict& each) {
        if (each.global != Verdict::right || each.name == "mask") return false;
        const std::optional<Tensor> wrong = replay.step_with({&mistake}, each.name);
        const Tensor& right = about.judge.reference()[each.name];
        return wrong && !about.judge(each.name, {}, *wrong, right, false).right();
    });
}

Case::Case(const Plan& walked, const DiagnoseOptions& requested, Intake tensors_read,
           double epsilon)
    : plan(walked),
      options(requested),
      intake(std::move(tensors_read)),
      judge(plan, intake.given, options),
      replay(plan, intake.given) {
    judge.loosen(epsilon);
    mistakes = mistakes_in(plan);
    std::erase_if(mistakes, [&](const Mistake* each) { return !each->applies(plan); });
    for (const Mistake& entry : harmless_differences()) {
        if (entry.applies(plan)) harmless.push_back(&entry);
    }
}

bool Diagnosis::judges_a_step() const {
    return std::ranges::any_of(steps, [&](const StepVerdict& verdict) {
        const Step::Kind kind = find_step(kept_table(*plan), verdict.name).kind;
        return kind == Step::Kind::computed || kind == Step::Kind::detail;
    });
}

}  // namespace attn
