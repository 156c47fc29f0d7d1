#include "attn/judge/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/search.hpp"

namespace attn {
namespace {

constexpr double fewest_digits = 0x1p-7;  // of bfloat16

/// A hypothesis about the digits of the user's numbers.
struct Exactness {
    std::optional<int> decimals{}, digits{};
    double epsilon = 0;
    std::string remark{};
    std::string doubt{};  ///< what the user must specify, if the numbers have more digits than that
};

std::string remark(const std::string& digits) {
    return "your numbers have " + digits + " and are compared at that precision";
}

/// Returns the precisions that the user's numbers may have been printed with, if it is low.
std::vector<Exactness> printed_in(const Ledger& user_tensors) {
    std::vector<Exactness> all;
    if (are_whole(user_tensors)) return all;
    // PyTorch prints each tensor in decimals, or its largest or smallest numbers as 1.2345e-03.
    Ledger fixed, other;
    for (const auto& [name, tensor] : user_tensors.entries()) {
        (printed_alone(tensor).are_significant ? other : fixed).record(name, tensor);
    }
    const int decimals = decimals_of(fixed), digits = digits_of(other);
    if (decimals > 0 && digits > 0 && !other.entries().empty() && !are_whole(fixed)) {
        all.push_back({.decimals = decimals,
                       .digits = digits,
                       .remark = remark(counted(decimals, "decimal") + " or " +
                                        counted(digits, "significant digit"))});
    }
    if (const int count = decimals_of(user_tensors); count > 0) {
        all.push_back({.decimals = count, .remark = remark(counted(count, "decimal"))});
    }
    if (const int count = digits_of(user_tensors);
        count > 0 && has_cut_decimals(user_tensors, count)) {
        all.push_back({.digits = count, .remark = remark(counted(count, "significant digit"))});
    }
    return all;
}

const std::vector<Exactness>& of_short_types() {
    static const std::vector<Exactness> all{
        {.epsilon = 0x1p-10,
         .remark = "your numbers are right to 3 digits, as TF32 and float16 give them",
         .doubt = "your numbers are stored with more digits than that. If your code computes in "
                  "TF32 or float16, "
                  "pass $compute-dtype float16; if not, something small is wrong"_message},
        {.epsilon = fewest_digits,
         .remark = "your numbers are right to 2 digits, as bfloat16 gives them",
         .doubt = "your numbers are stored with more digits than that. If your code computes in "
                  "bfloat16, pass "
                  "$compute-dtype bfloat16; if not, something small is wrong"_message}};
    return all;
}

/// True if some float64 number has more digits than float32, stored or printed: then it was not
/// computed in 16 bits.
bool has_digits_of_double(const Ledger& tensors) {
    return std::ranges::any_of(tensors.entries(), [](const Ledger::Entry& entry) {
        if (entry.tensor.dtype() != DType::float64) return false;
        const std::vector<double> numbers = entry.tensor.numbers();
        return std::ranges::any_of(numbers, [](double number) {
            return std::isfinite(number) && static_cast<float>(number) != number &&
                   std::stod(fmt::format("{:.9g}", number)) != number;
        });
    });
}

/// Returns the steps that a tensor may be: the one that the user maps it to, else the candidates
/// for its name.
std::vector<std::string> steps_meant(const std::string& name, const Plan& plan,
                                     const DiagnoseOptions& options) {
    const auto specified = options.steps.find(name);
    return specified != options.steps.end() ? std::vector{specified->second}
                                            : steps_called(name, plan);
}

/// Returns the ways to read a tensor as that step of the walk.
std::vector<Reading> readings_as(const std::string& step, const Tensor& tensor, const Plan& plan) {
    const Outline correct = find_step(kept_table(plan), step).outline(plan);
    return readings(tensor, correct.axes, correct.shape, plan.compute_dtype);
}

/// Returns the number of samples that the user saved if all tensors agree on fewer than the walk's.
std::optional<std::size_t> samples_in(const Plan& plan, const Ledger& user_tensors,
                                      const DiagnoseOptions& options) {
    std::optional<std::size_t> samples;
    bool is_reported = false;  // by a tensor that could be nothing of all samples
    for (const auto& [name, tensor] : user_tensors.entries()) {
        std::vector<std::string> steps = steps_meant(name, plan, options);
        if (steps.empty() && user_tensors.entries().size() == 1)
            steps = steps_called("output", plan);
        if (steps.empty() || steps.front() == "mask") continue;
        bool fits = false;
        for (const std::string& step : steps) {
            const Outline correct = find_step(kept_table(plan), step).outline(plan);
            if (tensor.size() == element_count(correct.shape)) return std::nullopt;
            if (correct.axes.empty() || correct.axes.front() != "batch") continue;
            const std::size_t each = element_count(correct.shape) / plan.batch;
            if (each == 0 || tensor.size() % each != 0 || tensor.size() / each >= plan.batch)
                continue;
            Shape part = correct.shape;
            part.front() = tensor.size() / each;
            if (readings(tensor, correct.axes, part, plan.compute_dtype).empty()) continue;
            if (samples && *samples != tensor.size() / each) continue;
            samples = tensor.size() / each;
            fits = true;
            const auto is_kept = [&, &tensor = tensor](const std::string& kept) {
                const Step& card = find_step(kept_table(plan), kept);
                return card.applies(plan) && card.outline(plan).shape == tensor.shape();
            };
            is_reported = is_reported || std::ranges::none_of(kept_of(step), is_kept);
        }
        if (!fits) return std::nullopt;
    }
    return is_reported ? samples : std::nullopt;
}

/// Returns the user's tensor for each of query, key and value: the one whose name allows the fewest
/// other steps, or the first of several. The others remain to be judged.
std::map<std::string, std::string> projections_in(const Plan& plan, const Ledger& user_tensors,
                                                  const DiagnoseOptions& options) {
    std::map<std::string, std::pair<std::size_t, std::string>> best;
    for (const auto& [name, tensor] : user_tensors.entries()) {
        const std::vector<std::string> steps = steps_meant(name, plan, options);
        const std::string step = steps.empty() ? "" : steps.front();
        if (step != "query" && step != "key" && step != "value") continue;
        if (readings_as(step, tensor, plan).empty()) continue;
        const std::size_t choices = name == step ? 0 : steps.size();
        const auto [place, is_new] = best.try_emplace(step, choices, name);
        if (!is_new && choices < place->second.first) place->second = {choices, name};
    }
    std::map<std::string, std::string> step_of;
    for (const auto& [step, chosen] : best) step_of[chosen.second] = step;
    return step_of;
}

/// Takes the user's query, key and value as given if no parameters make them.
Intake read_tensors_of(const Plan& plan, const Ledger& given, const Ledger& user_tensors,
                       const DiagnoseOptions& options) {
    if (!options.takes_projections) return {given, user_tensors};
    Intake intake{given, {}};
    std::set<std::string> read_inputs;
    const std::map<std::string, std::string> step_of = projections_in(plan, user_tensors, options);
    for (const auto& [name, tensor] : user_tensors.entries()) {
        const auto step = step_of.find(name);
        if (step == step_of.end()) {
            intake.actual.record(name, tensor);
            continue;
        }
        std::vector<Reading> ways = readings_as(step->second, tensor, plan);
        // A square one is read with its tokens before its features.
        std::ranges::stable_partition(ways, [](const Reading& each) {
            return each.layout.empty() || each.layout.ends_with("feature)");
        });
        intake.given.record(step->second, ways.front().tensor);
        read_inputs.insert(name);
    }
    if (!read_inputs.empty() && options.reports_inputs_as_given) {
        intake.remarks.push_back(
            joined({read_inputs.begin(), read_inputs.end()}) +
            " are taken as given: there are no parameters to compute them from x");
    }
    return intake;
}

/// Reports that no tensor matches a step, and how to map names.
[[noreturn]] void refuse_tensors(const Ledger& user_tensors, const Ledger& reference) {
    std::vector<std::string> names;
    for (const auto& entry : user_tensors.entries()) {
        names.push_back(entry.name + " " + shape_text(entry.tensor.shape()));
    }
    std::vector<std::string> correct;
    for (const auto& entry : reference.entries()) correct.push_back(entry.name);
    throw ConfigError((names.empty() ? "there is no tensor to compare"
                                     : "none of " + some_of(names) + " is a step of this walk") +
                      ": name them with $map NAME:STEP; the steps are "_message + joined(correct));
}

/// State shared by all readings, and the tensors to be read.
struct CaseTensors {
    Case about;
    std::vector<Skipped> skipped{};
    std::vector<UserTensor> tensors;

    CaseTensors(const Plan& plan, const Intake& intake, const DiagnoseOptions& options,
                double epsilon)
        : about(plan, options, intake, epsilon),
          tensors(read_user_tensors(plan, about.judge, intake.actual, options, skipped)) {}
};

/// True if a finding that is called harmless may still be a mistake in the visible scores: the
/// weights are right, but only to the precision of these numbers.
bool may_be_mistake(const Plan& plan, const Finding& finding) {
    const auto changes_scores = [&](const Mistake* each) {
        const bool is_numbered = std::ranges::any_of(numbered_entries(), [&](const auto& family) {
            return family.entry(family.starts.front()).family() == each->family();
        });
        return is_scores(plan, each->step) && each->step != "masked_scores" &&
               (is_numbered || std::ranges::count(mistakes(), each->id, &Mistake::id) > 0);
    };
    return finding.harmless && finding.replayed && is_scores(plan, finding.step) &&
           (changes_scores(finding.mistake()) ||
            std::ranges::any_of(finding.as(Role::ties), changes_scores));
}

const StepVerdict& row_of(const Diagnosis& diagnosis, const Finding& finding) {
    return *std::ranges::find(diagnosis.steps, finding.step, &StepVerdict::name);
}

/// Returns the questions that a diagnosis leaves undecided: see Diagnosis::open.
std::vector<std::string> open_questions(Diagnosis& diagnosis, const DiagnoseOptions& options) {
    std::vector<std::string> open;
    const auto is_before = [](const StepVerdict& step) { return step.name == "merged"; };
    const bool saves_before = std::ranges::any_of(diagnosis.steps, is_before);
    for (Finding& finding : diagnosis.findings) {
        const std::string& name = row_of(diagnosis, finding).name_in_file;
        if (finding.is_question) {
            open.push_back("the results are correct but do not follow from " + name +
                           ": save the tensor that they were computed from");
        } else if (finding.mistake() && finding.mistake()->id == "no-output-projection" &&
                   name != "output" && !saves_before) {
            finding.is_question = true;
            open.push_back("if you saved " + name +
                           " before w_output was applied to it, nothing is wrong");
        }
        if (!may_be_mistake(*diagnosis.plan, finding)) continue;
        open.push_back(finding.step +
                       " may be a mistake: these numbers are too small or too alike to show what "
                       "it does to the output. Larger ones would show it");
    }
    // Earlier rounding to 16 bits or few decimals may have grown, but not by one common factor.
    const auto differs = [&](const StepVerdict& step) {
        const bool is_cut = step.epsilon != 0 || options.decimals || options.digits;
        const bool may_have_grown = is_cut && !step.is_systematic && step.local == Verdict::right;
        return is_result_step(*diagnosis.plan, step.name) && step.global == Verdict::wrong &&
               step.local != Verdict::wrong && !may_have_grown;
    };
    const auto first = std::ranges::find_if(diagnosis.steps, differs);
    if (diagnosis.findings.empty() && first != diagnosis.steps.end()) {
        open.push_back(first->name +
                       " differs from the reference, although each step before it is correct on "
                       "its own: save more of those steps");
    }
    const auto unusual = std::ranges::find_if(diagnosis.steps, &StepVerdict::is_unusual);
    if (diagnosis.findings.empty() && unusual != diagnosis.steps.end()) {
        open.push_back("rounding could explain " + unusual->name + ", but its errors are usually " +
                       brief(unusual->excess) +
                       " times smaller: save the steps before it, or pass $compute-dtype if your "
                       "code computes with fewer digits"_message);
    }
    return open;
}

Diagnosis diagnosed(const CaseTensors& read_inputs) {
    const Intake& intake = read_inputs.about.intake;
    const bool is_empty = read_inputs.tensors.empty();
    const DiagnoseOptions& options = read_inputs.about.options;
    if (is_empty && !options.has_backward && !options.may_be_empty) {
        refuse_tensors(intake.actual, read_inputs.about.judge.reference());
    }
    Diagnosis diagnosis;
    if (is_empty) {
        diagnosis.read = intake.given;
    } else {
        diagnosis = best_reading(read_inputs.about, read_inputs.tensors);
    }
    diagnosis.plan = read_inputs.about.plan;
    diagnosis.open = open_questions(diagnosis, read_inputs.about.options);
    diagnosis.given = intake.given;
    diagnosis.remarks = intake.remarks;
    diagnosis.skipped.insert(diagnosis.skipped.begin(), read_inputs.skipped.begin(),
                             read_inputs.skipped.end());
    return diagnosis;
}

/// True if some tensor differs, and 16 bits could explain all that does.
bool may_be_rounded(const CaseTensors& read_inputs) {
    Judge judge = read_inputs.about.judge;
    judge.loosen(fewest_digits);
    return std::ranges::any_of(read_inputs.tensors, [&](const UserTensor& each) {
        return !each.is_right && std::ranges::any_of(each.options, [&](const std::string& step) {
            return step != "mask" && judge.right_reading(each, step).has_value();
        });
    });
}

}  // namespace

Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& user_tensors,
                   const DiagnoseOptions& options) {
    if (const auto samples = samples_in(plan, user_tensors, options)) {
        if (const auto part = first_samples(plan, given, *samples)) {
            Diagnosis diagnosis = diagnose(part->plan, part->given, user_tensors, options);
            diagnosis.remarks.push_back("yours has the first " + std::to_string(*samples) + " of " +
                                        std::to_string(plan.batch) + " samples");
            return diagnosis;
        }
    }
    const Intake intake = read_tensors_of(plan, given, user_tensors, options);
    const bool is_specified = options.tolerance || options.decimals || options.digits;
    const auto with = [&](const Exactness& exactness, double bound) {
        DiagnoseOptions within = options;
        within.decimals = exactness.decimals;
        within.digits = exactness.digits;
        within.bound = std::min(bound, options.bound);
        Diagnosis diagnosis = diagnosed(CaseTensors(plan, intake, within, exactness.epsilon));
        diagnosis.remarks.push_back(exactness.remark);
        return diagnosis;
    };
    // Weights of 1.0000 and 0.0000 have the decimals of the scores that they were made of.
    std::vector<Exactness> printed;
    if (!is_specified && !are_whole(user_tensors)) {
        printed = printed_in(user_tensors);
    } else if (!is_specified) {
        printed = printed_in(plan.config.parameters);
        // Softmax gives neither 0.0 nor 1.0: both were rounded.
        const bool has_point = std::ranges::any_of(
            user_tensors.entries(), [](const auto& entry) { return entry.tensor.is_floating(); });
        if (printed.empty() && has_point)
            printed.push_back({.decimals = 1, .remark = remark(counted(1, "decimal"))});
    }
    const CaseTensors exact(plan, intake, options, 0);
    Diagnosis best = diagnosed(exact);
    // A long search may still explain a difference that a quick one could not.
    const auto bound = [&] { return best.has_unknown() ? HUGE_VAL : best.cost; };
    const bool is_settled = printed.empty() || best.cost < options.bound;
    // Inputs and results with few decimals differ by more than rounding usually makes.
    const bool is_unusual = std::ranges::any_of(best.steps, &StepVerdict::is_unusual);
    const bool is_sure = !best.has_unknown() && !best.has_mistake() && is_settled;
    if (is_specified || (is_sure && !(is_unusual && !printed.empty()))) return best;
    const double in_full = best.cost;
    for (const Exactness& each : printed) {
        Diagnosis other = with(each, is_unusual ? HUGE_VAL : bound());
        if (other.cost < best.cost || (is_unusual && other.is_right())) best = std::move(other);
    }
    if (best.cost < in_full || is_sure) return best;
    if (best.cost < cost::few_digits || has_digits_of_double(user_tensors) ||
        !may_be_rounded(exact)) {
        return best;
    }
    for (const Exactness& each : of_short_types()) {
        Diagnosis other = with(each, bound());
        if (other.cost >= best.cost || other.has_unknown()) continue;
        if (other.is_right()) other.open.push_back(each.doubt);
        return other;
    }
    return best;
}

}  // namespace attn
