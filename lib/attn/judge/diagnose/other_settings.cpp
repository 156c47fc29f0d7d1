#include "attn/judge/diagnose/other_settings.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/setting_choices.hpp"
#include "attn/judge/diagnose/shown_walks.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

/// True if some step that both judged is farther from the reference under other settings, although
/// wide bounds may accept it.
bool is_farther(const Diagnosis& tried, const Diagnosis& best) {
    return std::ranges::any_of(tried.steps, [&](const StepVerdict& step) {
        const auto same = std::ranges::find(best.steps, step.name, &StepVerdict::name);
        return same != best.steps.end() && std::isfinite(step.global_difference) &&
               step.global_difference > same->global_difference;
    });
}

/// True if a mistake omits a mask, or fills hidden cells with an unusual number: a mask that was
/// neither requested nor visible in any cell explains nothing.
bool shows_no_mask(const Finding& finding) {
    const Mistake* const mistake = finding.mistake();
    if (mistake == nullptr || finding.harmless || !mistake->id.starts_with("mask-")) return false;
    return mistake->id == "mask-not-applied" ||
           std::ranges::none_of(mistakes(),
                                [&](const Mistake& known) { return known.id == mistake->id; });
}

/// True if a step that a mask changes was judged: scores before it are no evidence for a mask.
bool is_after_mask(const Diagnosis& diagnosis) {
    const StepTable& table = step_table(*diagnosis.plan);
    return std::ranges::any_of(diagnosis.steps, [&](const StepVerdict& each) {
        return each.name == "mask" ||
               place_of(table, each.name) >= place_of(table, "masked_scores");
    });
}

/// Returns the cost of the tensors that no parameter of the file makes, under any settings.
double cost_of_missing(const Diagnosis& diagnosis) {
    double sum = 0;
    for (const Skipped& each : diagnosis.skipped) sum += each.lacks_parameter ? each.cost : 0;
    return sum;
}

std::ptrdiff_t count_skipped(const Diagnosis& diagnosis) {
    return std::ranges::count(diagnosis.skipped, false, &Skipped::lacks_parameter);
}

/// Removes the tensors that no parameter of the file may make, but leaves one.
Ledger without_missing(const Diagnosis& diagnosis, Ledger user_tensors) {
    const auto leave_out = [&user_tensors](const std::string& name) {
        if (user_tensors.entries().size() > 1) user_tensors = user_tensors.without(name);
    };
    for (const Skipped& each : diagnosis.skipped) {
        if (each.lacks_parameter) leave_out(each.name);
    }
    for (const Finding& each : diagnosis.findings) {
        const auto row = std::ranges::find(diagnosis.steps, each.step, &StepVerdict::name);
        if (each.lacks_parameter) leave_out(row->name_in_file);
    }
    return user_tensors;
}

/// A diagnosis in a few words.
std::string verdict_of(const Diagnosis& diagnosis) {
    if (diagnosis.is_right()) return "right";
    std::vector<std::string> ids;
    std::size_t unknown = 0;
    for (const Finding& finding : diagnosis.findings) {
        if (finding.harmless) continue;
        if (finding.mistake() == nullptr) {
            ++unknown;
        } else {
            ids.push_back(finding.mistake()->id);
        }
    }
    if (unknown > 0) {
        ids.push_back(unknown == 1 ? "unknown" : std::to_string(unknown) + " unknown differences");
    }
    return joined(ids);
}

/// Diagnoses the tensors of a walk again, under one configuration after another.
class OtherWalks {
public:
    OtherWalks(const RequestedWalk& requested, const DiagnoseOptions& options,
               FittingDiagnosis& best)
        : requested_(requested), options_(options), best_(best) {}

    void fit() {
        Diagnosis& diagnosis = best_.diagnosis;
        best_.is_open =
            ask_alignment(requested_.config) || (!diagnosis.is_right() && try_settings());
        try_forms();
        best_.back = back_of(diagnosis);
        if (diagnosis.steps.empty() && !best_.back.right()) try_backward_passes();
    }

private:
    /// Returns the verdicts under another configuration; nullopt if the tensors do not fit it.
    static std::optional<Diagnosis> tried(WalkConfig config, const DiagnoseOptions& options,
                                          const Ledger& user_tensors) {
        try {
            const Plan plan = resolve(std::move(config));
            return diagnose(plan, draw(plan), user_tensors, options);
        } catch (const Error&) {
            return std::nullopt;
        }
    }

    GradientDiagnosis back_of(Diagnosis& diagnosis) const {
        if (!options_.has_backward || diagnosis.plan->fused()) return {};
        GradientDiagnosis back = diagnose_gradients(
            {diagnosis, options_, requested_.loss(*diagnosis.plan)}, requested_.backward);
        std::erase_if(diagnosis.skipped, [&](const auto& each) { return each.name == back.used; });
        return back;
    }

    /// Diagnoses a causal mask with both alignments if there are fewer queries than keys and it is
    /// unknown whether the queries are the first tokens or the last. A single query is the token
    /// after a cache. Returns true if the verdicts differ.
    bool ask_alignment(WalkConfig config) {
        Diagnosis& first = best_.diagnosis;
        const bool is_specified = requested_.specified.causal_align || requested_.is_probe ||
                                  config.causal_align == CausalAlign::end;
        const Plan& plan = *first.plan;
        if (is_specified || !config.mask.causal || plan.past_len > 0 ||
            plan.query_len >= plan.key_len) {
            return false;
        }
        config.causal_align = CausalAlign::end;
        const bool is_single = plan.query_len == 1;
        std::optional<Diagnosis> last = tried(std::move(config), options_, requested_.user_tensors);
        const std::string at_start = verdict_of(first);
        const std::string at_end = last ? verdict_of(*last) : at_start;
        if (at_start == at_end) return false;
        const bool is_nearer = !first.is_right() && last->cost < first.cost;
        if (is_nearer || (is_single && !last->has_unknown())) first = *std::move(last);
        first.remarks.push_back(
            "with $causal-align start, the queries are the first tokens: "_message + at_start +
            "; with $causal-align end, the last ones: "_message + at_end +
            ". Which did you intend? Pass that one");
        return true;
    }

    /// Diagnoses again under settings that the user has not chosen, and takes the verdict with the
    /// fewest findings. If another setting gives another verdict both are reported: only the author
    /// knows which setting was meant. The settings of a probe are never replaced.
    ///
    /// Returns true if there are two verdicts.
    bool try_settings() {
        Diagnosis& best = best_.diagnosis;
        const std::string without = verdict_of(best);
        const std::ptrdiff_t skipped = count_skipped(best);
        const bool is_unknown = best.has_unknown() && !best.has_mistake();
        OtherSettings chosen_settings;
        for (OtherSettings& other : other_settings(requested_, options_)) {
            const double cost = best.cost - cost_of_missing(best);
            if (other.cost() >= cost) break;
            DiagnoseOptions within = options_;
            const bool must_be_right = requested_.is_probe || other.have_to_be_right();
            // Other settings must explain an unknown difference by one mistake.
            const double explained = std::max(cost - cost::unknown, 0.0) + cost::named;
            const double most =
                std::min(must_be_right ? cost::right : explained, cost - other.cost());
            within.bound = most;
            const std::string text = other.text();
            const Ledger computed = without_missing(best, requested_.user_tensors);
            std::optional<Diagnosis> found = tried(other.config, within, computed);
            if (!found || found->cost >= most) continue;
            if (computed.entries().size() < requested_.user_tensors.entries().size()) {
                within.bound = most + cost::left_out;
                found = tried(other.config, within, requested_.user_tensors);
                if (!found || found->cost - cost_of_missing(*found) >= most) continue;
            }
            if (count_skipped(*found) > skipped) continue;
            if (found->is_right() && is_farther(*found, best)) continue;
            const bool hides = std::ranges::any_of(
                other.lines, [](const std::string& line) { return line.starts_with("mask"); });
            if (hides &&
                (!is_after_mask(*found) || std::ranges::any_of(found->findings, shows_no_mask))) {
                continue;
            }
            if (requested_.is_probe) {
                best.remarks.push_back("yours matches with " + text +
                                       ", which the probe does not have");
                return false;
            }
            best = *std::move(found);
            chosen_settings = std::move(other);
            if (best.is_right()) break;
        }
        if (chosen_settings.text().empty()) return false;
        const std::string verdicts =
            "with " + chosen_settings.text() + ": " + verdict_of(best) + "; without: " + without;
        if (is_unknown && best.is_right() && chosen_settings.are_certain()) {
            best.remarks.push_back(verdicts +
                                   ". Your numbers follow from the first, which is assumed");
            return false;
        }
        best.remarks.push_back(verdicts + ". Which did you intend? If it is the first, pass " +
                               chosen_settings.text());
        if (chosen_settings.config.mask.causal && !requested_.config.mask.causal)
            ask_alignment(chosen_settings.config);
        return true;
    }

    /// Tries other forms of an attention file if the first one explains nothing: a mistake in a
    /// state is visible only in the recurrent form.
    void try_forms() {
        Diagnosis& diagnosis = best_.diagnosis;
        if (requested_.specified.form || diagnosis.steps.empty() || !diagnosis.has_open_end())
            return;
        for (const auto& file : requested_.config.attentions) {
            for (const std::string& form : file->forms) {
                if (form == file->walked_form(requested_.config.form)) continue;  // tried already
                WalkConfig other = requested_.config;
                other.form = form;
                std::optional<Diagnosis> found =
                    tried(std::move(other), options_, requested_.user_tensors);
                if (!found || found->is_right() || found->has_open_end()) continue;
                diagnosis = *std::move(found);
                diagnosis.remarks.push_back("recognised as form " + form + ": $form "_message +
                                            form);
                return;
            }
        }
    }

    /// If only gradients can be judged, chooses the first other settings under which all are right.
    void try_backward_passes() {
        best_.is_open = false;
        for (const OtherSettings& other : other_settings(requested_, options_)) {
            std::optional<Diagnosis> found = tried(other.config, options_, requested_.user_tensors);
            if (!found) continue;
            try {
                GradientDiagnosis again = back_of(*found);
                if (!again.right()) continue;
                best_ = {*std::move(found), std::move(again), !requested_.is_probe};
            } catch (const Error&) {
                continue;  // these gradients do not fit that setting
            }
            best_.diagnosis.remarks.push_back(
                "with " + other.text() + " the gradients are right; without it they are not" +
                ". Which did you intend? If it is the first, pass " + other.text());
            return;
        }
    }

    const RequestedWalk& requested_;
    const DiagnoseOptions& options_;
    FittingDiagnosis& best_;
};

}  // namespace

FittingDiagnosis diagnose_as_it_fits(const RequestedWalk& requested, const Plan& plan,
                                     const DiagnoseOptions& options) {
    ShownDiagnosis shown = diagnose_as_shown(requested, plan, options);
    FittingDiagnosis fitting{std::move(shown.diagnosis)};
    if (shown.walk.assumed.empty() && !shown.walk.is_rare) fitting.as_requested = fitting.diagnosis;
    OtherWalks(shown.walk.requested, options, fitting).fit();
    std::ranges::copy(shown.walk.assumed, std::back_inserter(fitting.diagnosis.remarks));
    refuse_wide_tolerance(options, fitting.diagnosis);
    return fitting;
}

}  // namespace attn
