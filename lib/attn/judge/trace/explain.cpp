#include "attn/judge/trace/explain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>

#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/trace/cores.hpp"
#include "attn/judge/trace/moves.hpp"

namespace attn {
namespace {

LineVerdict verdict_of(const StepVerdict& row, const Finding* finding) {
    if (row.local == Verdict::not_compared) return LineVerdict::not_judged;
    if (row.local == Verdict::right) {
        return row.global == Verdict::right ? LineVerdict::right : LineVerdict::follows;
    }
    if (row.harmless || (finding != nullptr && finding->harmless)) return LineVerdict::harmless;
    if (finding == nullptr) return LineVerdict::open;
    if (finding->mistake() != nullptr) return LineVerdict::wrong;
    return finding->follows.empty() ? LineVerdict::open : LineVerdict::unknown;
}

/// True if a program names neither the factors of its scores nor the matrices that they come from.
bool names_no_roles(const Alignment& alignment, const Trace& trace) {
    const auto is_named = [&](std::size_t place) {
        const std::string step = called(trace[place]);
        return step.ends_with("query") || step.ends_with("key") || step.ends_with("value");
    };
    const auto is_named_role = [&](const auto& each) {
        return (each.second == "query" || each.second == "key") &&
               is_named(alignment.places.at(each.first));
    };
    return std::ranges::none_of(alignment.steps, is_named_role) &&
           std::ranges::none_of(alignment.parameters, is_named);
}

/// True if a program also does not name its scores and weights: it may not be attention.
bool names_nothing(const Alignment& alignment, const Trace& trace) {
    const auto is_named = [&](const auto& each) {
        const bool is_reported = each.second.ends_with("scores") || each.second == "weights";
        return is_reported && !called(trace[alignment.places.at(each.first)]).empty();
    };
    return names_no_roles(alignment, trace) && std::ranges::none_of(alignment.steps, is_named);
}

constexpr const char* not_scaled =
    "the scores are not divided by the square root of the width: is this intended?";

/// A question in place of a mistake that is often made on purpose; empty for other lines.
std::string suggested(const ExplainedLine& line, const Alignment& alignment, const Trace& trace) {
    const bool is_coarse =
        std::ranges::any_of(alignment.requested.user_tensors.entries(),
                            [](const auto& entry) { return is_16_bit(entry.tensor.dtype()); });
    if (line.verdict == LineVerdict::unknown && is_coarse) {
        return "in 16 bits these numbers are too coarse to decide. Is this intended?";
    }
    if (line.verdict != LineVerdict::wrong) return {};
    const std::string& id = line.finding->mistake()->id;
    const bool is_of_columns = id == "softmax-axis=query" || id == "softmax-sum=query";
    if (is_of_columns && names_nothing(alignment, trace)) {
        return "each column of the weights sums to 1, not each row: is this intended?";
    }
    if (id == "scale-missing" && names_no_roles(alignment, trace)) {
        return not_scaled;
    }
    if (id == "dropout-at-eval") return "cells were dropped, as in training: is this intended?";
    return {};
}

/// The base of RoPE that the numbers follow, if it is one in use.
std::optional<double> other_base(const Diagnosis& diagnosis) {
    for (const Finding& each : diagnosis.findings) {
        const Mistake* const mistake = each.mistake();
        if (mistake == nullptr || mistake->family() != "rope-theta") continue;
        const std::size_t number = mistake->id.find('=');
        const double theta = number == std::string::npos
                                 ? 5e5
                                 : std::strtod(mistake->id.c_str() + number + 1, nullptr);
        // A base in use is a round number; any other is a sign of wrong exponents.
        const double power = std::pow(10, std::floor(std::log10(theta)) - 1);
        const double rounded = std::round(theta / power) * power;
        if (theta >= 500 && std::abs(theta / rounded - 1) < 1e-3) return rounded;
    }
    return std::nullopt;
}

/// True if the factor of the scores is not a known mistake: a temperature, a learned scale, or a
/// missing scale next to another mistake in the weights.
bool has_scale_of_its_own(const Diagnosis& diagnosis) {
    const bool is_scaled =
        std::ranges::count(diagnosis.steps, "scaled_scores", &StepVerdict::name) > 0;
    return std::ranges::any_of(diagnosis.findings, [&](const Finding& each) {
        const Mistake* const mistake = each.mistake();
        const bool is_score =
            each.step.ends_with("scores") || (each.step == "weights" && !is_scaled);
        return mistake == nullptr ? is_score : mistake->id.starts_with("scale-other");
    });
}

/// True if a scale is 1 / sqrt of a length of the parameters of query or key.
bool is_of_known_width(const ScaleChoice& scale, const Trace& trace, std::int64_t heads) {
    if (scale.by != ScaleChoice::By::number || heads > 1) return false;
    for (const Traced& each : trace) {
        const std::string step = called(each);
        if (step != "w_query" && step != "w_key") continue;
        for (const std::size_t length : each.shape) {
            const double root = std::sqrt(static_cast<double>(length));
            if (std::abs(scale.number * root - 1) < 1e-4) return true;
        }
    }
    return false;
}

/// Asks about scores with a scale of their own, or about a missing scale, that another mistake
/// hides.
LineQuestion question_on_scale(const Alignment& alignment, const ScaleChoice& scale,
                               const Trace& trace) {
    const bool is_number = scale.by == ScaleChoice::By::number;
    std::size_t place = alignment.from;
    const std::string wanted = is_number ? "scaled_scores" : "scores";
    for (const auto& [label, step] : alignment.steps) {
        if (step == "scores" || step == wanted) place = alignment.places.at(label);
        if (step == wanted) break;
    }
    for (const auto& [at, steps] : alignment.beside) {
        if (std::ranges::count(steps, wanted) > 0) place = at;
    }
    if (is_number && alignment.changes.scaled_at) place = *alignment.changes.scaled_at;
    const std::string text = "the scores are multiplied by " + brief(scale.number) +
                             ", not by 1 / sqrt(width of the query): is this intended?";
    return {trace[place].file, trace[place].line, is_number ? text : not_scaled};
}

/// Rounds a factor to the precision of its type, as a multiple of 1 / sqrt(d) if it is one.
double rounded_factor(double factor, const Plan& plan, DType dtype) {
    const double root = std::sqrt(static_cast<double>(*plan.config.head_dim));
    for (const double digits : {1.0, 2.0, 10.0, 100.0}) {
        const double multiple = std::round(factor * root * digits) / digits;
        if (multiple > 0 && std::abs(multiple / (factor * root) - 1) < 4 * epsilon(dtype)) {
            return multiple / root;
        }
    }
    return factor;
}

bool sets_scale(const WalkConfig& config) { return config.scale.by != ScaleChoice::By::head_dim; }

/// Returns the settings of a walk that differ from the default, as flags.
std::string settings_text(const WalkConfig& config) {
    std::string text;
    for (const char* name : {"heads", "kv-heads", "mask", "scale", "rope", "rotary-dim", "softcap",
                             "sink", "rope-theta", "dropout"}) {
        const Setting& setting = find_setting(name);
        const std::optional<std::string> value = specified(setting, config);
        if (!value || value->empty()) continue;
        text +=
            (text.empty() ? "" : " ") + std::string(setting_prefix) + setting.name + " " + *value;
    }
    return text;
}

/// Judges a walk; if its scores have a scale of their own, uses that scale. Tensors that fit no
/// walk leave a question.
FittingDiagnosis judged(RequestedWalk& walk, const DiagnoseOptions& options, double factor,
                        DType dtype) {
    try {
        const Plan plan = resolve(walk.config);
        FittingDiagnosis fitting = diagnose_as_it_fits(walk, plan, options);
        const std::optional<double> theta = other_base(fitting.diagnosis);
        if (theta && walk.config.rotary.theta == Rotary().theta) {
            walk.config.rotary.theta = *theta;
            return judged(walk, options, factor, dtype);
        }
        const double usual_factor = 1 / std::sqrt(static_cast<double>(*plan.config.head_dim));
        const bool is_usual = std::abs(factor / usual_factor - 1) < 4 * epsilon(dtype);
        if (is_usual || !has_scale_of_its_own(fitting.diagnosis) || sets_scale(walk.config)) {
            return fitting;
        }
        const ScaleChoice usual = walk.config.scale;
        walk.config.scale = {ScaleChoice::By::number, rounded_factor(factor, plan, dtype)};
        if (factor == 1) walk.config.scale.by = ScaleChoice::By::none;
        FittingDiagnosis scaled = diagnose_as_it_fits(walk, resolve(walk.config), options);
        if (factor != 1 || scaled.diagnosis.cost < fitting.diagnosis.cost) return scaled;
        walk.config.scale = usual;
        return fitting;
    } catch (const ShapeError& error) {
        FittingDiagnosis unjudged;
        unjudged.diagnosis.open.emplace_back(error.what());
        unjudged.is_open = true;
        return unjudged;
    }
}

/// Returns the answers for steps of an alignment, in its order of axes. Omits steps whose numbers
/// are in another order.
Ledger answers_to(const Alignment& alignment, const Trace& trace, const Ledger& answers) {
    Ledger user_tensors;
    for (const auto& [label, tensor] : alignment.requested.user_tensors.entries()) {
        const Tensor* const answer = answers.find(label);
        const bool is_as_it_is = answer != nullptr && answer->size() == tensor.size() &&
                                 tensor.numbers() == trace[alignment.places.at(label)].all;
        if (is_as_it_is) {
            user_tensors.record(label,
                                strided(*answer, tensor.shape(), row_strides(tensor.shape())));
        }
    }
    return user_tensors;
}

/// Adds the lines of the steps that were judged, and of those that were not.
void add_lines(const Alignment& alignment, const Trace& trace, ExplainedAttention& result) {
    std::map<std::size_t, ExplainedLine> lines;
    const auto line_at = [&](std::size_t place) -> ExplainedLine& {
        const Traced& each = trace[place];
        const auto [at, is_new] = lines.try_emplace(place);
        if (is_new) at->second = {each.file, each.line, each.name, {}, each.shape};
        return at->second;
    };
    for (const auto& [place, steps] : alignment.beside) {
        ExplainedLine& line = line_at(place);
        line.steps.insert(line.steps.end(), steps.begin(), steps.end());
    }
    for (const auto& [label, step] : alignment.steps) {
        ExplainedLine& line = line_at(alignment.places.at(label));
        line.steps.push_back(step);
        const auto row =
            std::ranges::find(result.diagnosis.steps, label, &StepVerdict::name_in_file);
        const auto skipped = std::ranges::find(result.diagnosis.skipped, label, &Skipped::name);
        if (row == result.diagnosis.steps.end()) {
            const bool is_given = alignment.takes_projections && step != "weights";
            line.verdict = is_given ? LineVerdict::right : LineVerdict::not_judged;
            if (skipped != result.diagnosis.skipped.end()) line.reason = skipped->reason;
            continue;
        }
        line.steps.back() = row->name;
        const auto finding = std::ranges::find_if(
            result.diagnosis.findings, [&](const Finding& each) { return each.step == row->name; });
        const Finding* const own = finding == result.diagnosis.findings.end() ? nullptr : &*finding;
        // A tensor may be several steps: report the first finding.
        const LineVerdict verdict = verdict_of(*row, own);
        if (line.finding == nullptr && (own != nullptr || line.steps.size() == 1)) {
            line.finding = own;
            line.verdict = verdict;
        }
    }
    move_to_missing_steps(result.diagnosis, lines);
    for (auto& [place, line] : lines) result.lines.push_back(std::move(line));
}

/// Returns the last place in the trace that belongs to an alignment.
std::size_t last_place(const Alignment& alignment) {
    std::size_t last = alignment.from;
    for (const auto& [label, place] : alignment.places) last = std::max(last, place);
    for (const auto& [place, steps] : alignment.beside) last = std::max(last, place);
    return last;
}

/// The lines of the main program whose tensors are neither between the first and the last step of
/// an attention nor its parameters.
std::vector<std::size_t> lines_outside(const Trace& trace,
                                       const std::vector<Alignment>& alignments) {
    std::vector<bool> belongs(trace.size());
    for (const Alignment& each : alignments) {
        std::fill(belongs.begin() + static_cast<std::ptrdiff_t>(each.from),
                  belongs.begin() + static_cast<std::ptrdiff_t>(last_place(each)) + 1, true);
        for (const std::size_t place : each.parameters) belongs[place] = true;
    }
    std::set<std::size_t> inside, outside;
    for (std::size_t i = 0; i < trace.size(); ++i) {
        if (trace[i].file.empty() && trace[i].line > 0) {
            (belongs[i] ? inside : outside).insert(trace[i].line);
        }
    }
    std::vector<std::size_t> lines;
    std::ranges::set_difference(outside, inside, std::back_inserter(lines));
    return lines;
}

}  // namespace

bool Explanation::has_mistake() const {
    return std::ranges::any_of(attentions, [](const ExplainedAttention& each) {
        return std::ranges::any_of(
            each.lines, [](const ExplainedLine& line) { return is_wrong(line.verdict); });
    });
}

bool Explanation::is_right() const {
    return !attentions.empty() && !has_mistake() &&
           std::ranges::all_of(attentions, [](const ExplainedAttention& each) {
               return !each.is_open && each.diagnosis.judges_a_step();
           });
}

Explanation explain(const Trace& trace, const RequestedWalk& base, const DiagnoseOptions& options,
                    const Ledger& answers) {
    Explanation result;
    const std::vector<Alignment> all = alignments(trace, base);
    result.skipped_lines = lines_outside(trace, all);
    for (const Alignment& each : all) {
        DiagnoseOptions of_this = options;
        of_this.steps = each.steps;
        of_this.takes_projections = each.takes_projections;
        of_this.reports_inputs_as_given = false;  // the listing of lines reports them
        RequestedWalk walk = each.requested;
        if (!answers.entries().empty()) {
            walk.user_tensors = answers_to(each, trace, answers);
            if (walk.user_tensors.entries().empty()) continue;
        }
        if (walk.user_tensors.entries().empty()) {
            ExplainedAttention& unjudged = result.attentions.emplace_back();
            unjudged.questions = each.questions;
            unjudged.is_open = true;
            add_lines(each, trace, unjudged);
            continue;
        }
        FittingDiagnosis fitting =
            judged(walk, of_this, each.changes.factor, trace[each.from].dtype);
        ExplainedAttention& attention = result.attentions.emplace_back();
        attention.diagnosis = std::move(fitting.diagnosis);
        attention.questions = each.questions;
        if (walk.config.scale.by != each.requested.config.scale.by &&
            !is_of_known_width(walk.config.scale, trace, walk.config.heads)) {
            attention.questions.push_back(question_on_scale(each, walk.config.scale, trace));
        }
        for (const std::string& open : attention.diagnosis.open) {
            attention.questions.push_back({.text = open});
        }
        attention.is_open = fitting.is_open || !attention.questions.empty();
        attention.settings = settings_text(walk.config);
        attention.begins_at_query = each.takes_projections;
        attention.ends_at_weights = each.ends_at_weights;
        add_lines(each, trace, attention);
        move_to_causes(each, trace, attention);
        for (ExplainedLine& line : attention.lines) {
            if (std::string question = suggested(line, each, trace); !question.empty()) {
                line.verdict = LineVerdict::open;
                line.finding = nullptr;
                line.reason = std::move(question);
            }
            attention.is_open = attention.is_open || line.verdict == LineVerdict::open;
        }
    }
    return result;
}

}  // namespace attn
