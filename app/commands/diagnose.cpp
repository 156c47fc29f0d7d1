#include "attn/judge/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

namespace app {
namespace {

attn::DiagnoseOptions said_options(const Arguments& arguments, const attn::Ledger& file) {
    attn::DiagnoseOptions options;
    if (const auto decimals = arguments[flags::decimals]) {
        options.decimals = static_cast<int>(*decimals);
    }
    options.pairs = arguments.has(flags::pairs);
    options.tolerance = tolerance_of(arguments);
    options.steps = mapped_names(arguments, file);
    return options;
}

/// Errors  ConfigError for a step of --map that this walk has not.
void check_map(const attn::DiagnoseOptions& options, const attn::Plan& plan) {
    for (const auto& [theirs, step] : options.steps) {
        const std::string begin = step.starts_with("d_") ? "d_" : "";
        attn::find_step(attn::kept_table(plan), step.substr(begin.size()));
    }
}

/// Says which mistakes the input of the flags (and files) can reveal.
int run_power(const Arguments& arguments) {
    const attn::Ledger file =
        arguments.has(flags::file) ? read_ledger(arguments[flags::file]) : attn::Ledger();
    DiagnosedWalk asked = asked_walk(arguments, file, {});
    const attn::Plan plan = attn::resolve(std::move(asked.config));
    note_useless_flags(arguments, &plan);
    tell_cost_of_mistakes(plan);
    const attn::Power power = attn::power(plan, attn::draw(plan));
    write_text_or_json(
        arguments, [&] { return attn::power_text(power); },
        [&] { return attn::power_json(power); });
    return 0;
}

int exit_code_of(const attn::Diagnosis& diagnosis, bool partial, bool judges_gradients) {
    if (diagnosis.has_unknown()) return no_verdict;
    if (diagnosis.has_mistake()) return 1;
    if (!diagnosis.open.empty()) return no_verdict;
    if (!diagnosis.judges_a_step() && !judges_gradients) return no_verdict;
    return diagnosis.skipped.empty() || partial ? 0 : no_verdict;
}

/// Whether a file comes from NumPy: its arrays, under no names of modules.
bool is_of_numpy(const std::string& name, const attn::Ledger& file) {
    const bool is_archive = name.ends_with(".npz") || name.ends_with(".npy");
    return is_archive && std::ranges::none_of(file.entries(), [](const auto& entry) {
               return entry.name.find('.') != std::string::npos;
           });
}

/// The cost of a diagnosis in which nothing is wrong.
constexpr double of_right = 8;

/// True if some step that both judged is farther from the reference under other settings. Wide
/// bounds may call it right all the same.
bool is_farther(const attn::Diagnosis& tried, const attn::Diagnosis& best) {
    return std::ranges::any_of(tried.steps, [&](const attn::StepVerdict& step) {
        const auto same = std::ranges::find(best.steps, step.name, &attn::StepVerdict::name);
        return same != best.steps.end() && std::isfinite(step.global_difference) &&
               step.global_difference > same->global_difference;
    });
}

bool is_right(const attn::Diagnosis& diagnosis) {
    return !diagnosis.has_mistake() && !diagnosis.has_unknown() &&
           std::ranges::none_of(diagnosis.findings, &attn::Finding::asked);
}

/// A diagnosis in a few words.
std::string verdict_of(const attn::Diagnosis& diagnosis) {
    if (is_right(diagnosis)) return "right";
    std::string ids;
    for (const attn::Finding& finding : diagnosis.findings) {
        if (finding.harmless) continue;
        const std::string id = finding.mistake ? finding.mistake->id : "unknown";
        ids += (ids.empty() ? "" : ", ") + id;
    }
    return ids;
}

/// Other settings that nothing has fixed: another mask, order of query, key and value in one
/// weight, layout of a square one, number of heads, a rotation, slopes or a norm of x.
struct OtherSettings {
    std::string flags;  ///< as they would be typed
    attn::WalkConfig config;
    int changes = 0;

    /// These with a line of settings more.
    OtherSettings with(const std::string& line) const {
        OtherSettings more = *this;
        attn::configure(more.config, line);
        for (const auto& [name, text] : attn::settings_in(line)) {
            more.flags += (more.flags.empty() ? "--" : " --") + name + " " + text;
        }
        ++more.changes;
        return more;
    }
    /// Whether they are taken only where nothing is wrong with them: the search would be long.
    bool have_to_be_right() const {
        const auto say = [&](const char* word) { return flags.find(word) != flags.npos; };
        return say("--rope") || say("alibi") || say("--x-norm") ||
               (changes > 1 && !flags.starts_with("--heads"));
    }
};

/// Each of them as it is, and with one of these lines, which exclude one another.
void add_one_of(const std::vector<std::string>& lines, std::vector<OtherSettings>& others) {
    const std::size_t before = others.size();
    for (const std::string& line : lines) {
        for (std::size_t i = 0; i < before; ++i) others.push_back(others[i].with(line));
    }
}

/// All that there are, the fewest changes first.
std::vector<OtherSettings> other_settings(const Arguments& arguments, const DiagnosedWalk& asked) {
    const attn::WalkConfig& config = asked.config;
    std::vector<OtherSettings> others{{"", config}};
    const attn::Tensor* query = config.parameters.find("w_query");
    const attn::Tensor* fused = config.parameters.find("w_qkv");
    if (const attn::Tensor* w = fused != nullptr ? fused : query;
        !arguments.has(flags::heads) && config.heads == 1 && w != nullptr) {
        const bool in_out = config.weight_layout == attn::WeightLayout::in_out;
        const std::size_t features =
            (in_out ? w->shape().back() : w->shape().front()) / (fused != nullptr ? 3 : 1);
        for (std::size_t heads = 2; heads <= std::min<std::size_t>(features / 2, 32); ++heads) {
            if (features % heads != 0) continue;
            others.push_back(others.front().with("heads " + std::to_string(heads)));
            others.back().config.head_dim.reset();
            others.back().config.value_dim.reset();
        }
    }
    if (!arguments.has(flags::projection) && config.projection == attn::Projection::fused) {
        add_one_of({"projection fused-by-head"}, others);
    }
    const std::size_t axes = query != nullptr ? query->dimension() : 0;
    const bool square = axes >= 2 && query->shape()[axes - 2] == query->shape().back();
    if (!arguments.has(flags::weight_layout) && square && !config.weight_layout) {
        add_one_of({"weight-layout in-out"}, others);
    }
    std::vector<std::string> positions_or_norm;
    if (!config.rotary.pairing && !config.position_bias && !config.position_embedding &&
        !config.latent.rank) {
        positions_or_norm = {"rope half", "rope interleaved", "position-bias alibi"};
    }
    if (!config.x_norm && !asked.takes_projections) {
        positions_or_norm.insert(positions_or_norm.end(), {"x-norm layer", "x-norm rms"});
    }
    add_one_of(positions_or_norm, others);
    if (!asked.says_mask) {
        std::vector<std::string> masks{"mask causal"};
        // Fewer queries than keys may be the last ones.
        if (config.memory && !arguments.has(flags::causal_align)) {
            masks.emplace_back("mask causal, causal-align end");
        }
        add_one_of(masks, others);
    }
    others.erase(others.begin());
    std::ranges::stable_sort(others, {}, &OtherSettings::changes);
    return others;
}

/// Diagnoses anew under settings that nothing has fixed, and takes the verdict with the fewest
/// findings. Where another setting gives another verdict both are said: only the author knows which
/// setting was meant. What a probe says is never taken otherwise.
///
/// Returns whether there are two verdicts.
bool try_other_settings(const Arguments& arguments, const DiagnosedWalk& asked,
                        const attn::DiagnoseOptions& options, attn::Diagnosis& best) {
    const std::string without = verdict_of(best);
    const std::size_t skipped = best.skipped.size();
    std::string taken;
    for (OtherSettings& other : other_settings(arguments, asked)) {
        attn::Diagnosis tried;
        attn::DiagnoseOptions within = options;
        within.bound = best.cost;
        const bool must_be_right = asked.is_probe || other.have_to_be_right();
        if (must_be_right) {
            within.bound = std::min(of_right, best.cost);
        }
        try {
            const attn::Plan plan = attn::resolve(std::move(other.config));
            const attn::Ledger drawn = attn::draw(plan);
            // What costs less than a named mistake has none.
            const bool is_right_alone = must_be_right || !best.has_unknown();
            if (!attn::may_explain(plan, drawn, asked.theirs, best, within, is_right_alone)) {
                continue;
            }
            tried = attn::diagnose(plan, drawn, asked.theirs, within);
        } catch (const attn::Error&) {
            continue;  // these tensors do not fit that setting
        }
        if (tried.cost >= within.bound || tried.skipped.size() > skipped) continue;
        if (is_right(tried) && is_farther(tried, best)) continue;
        if (asked.is_probe) {
            best.remarks.push_back("yours matches with " + other.flags +
                                   ", which the probe is without");
            return false;
        }
        best = std::move(tried);
        taken = other.flags;
        if (is_right(best)) break;
    }
    if (taken.empty()) return false;
    best.remarks.push_back("with " + taken + ": " + verdict_of(best) + "; without: " + without +
                           ". Which is it? Pass " + taken + " if it is what you meant");
    return true;
}

/// Where the user asks for a causal mask with fewer queries than keys, and nothing says whether the
/// queries are the first tokens or the last: both are diagnosed, and a difference is a question.
///
/// Returns whether there is one.
bool ask_alignment(const Arguments& arguments, const DiagnosedWalk& asked,
                   const attn::DiagnoseOptions& options, attn::Diagnosis& first) {
    const attn::WalkConfig& config = asked.config;
    const bool is_said = arguments.has(flags::causal_align) || asked.is_probe ||
                         config.causal_align == attn::CausalAlign::end;
    const attn::Plan& plan = *first.plan;
    if (is_said || !config.mask.causal || plan.past_len > 0 || plan.query_len >= plan.key_len) {
        return false;
    }
    attn::WalkConfig other = config;
    other.causal_align = attn::CausalAlign::end;
    const attn::Plan at_end = attn::resolve(std::move(other));
    attn::Diagnosis last = attn::diagnose(at_end, attn::draw(at_end), asked.theirs, options);
    const std::string at_start_verdict = verdict_of(first), at_end_verdict = verdict_of(last);
    if (at_start_verdict == at_end_verdict) return false;
    if (!is_right(first) && last.cost < first.cost) first = std::move(last);
    first.remarks.push_back(
        "with --causal-align start, the queries are the first tokens: " + at_start_verdict +
        "; with --causal-align end, the last ones: " + at_end_verdict +
        ". Which is it? Pass the one that you meant");
    return true;
}

bool is_open_end(const attn::Diagnosis& diagnosis) {
    return std::ranges::any_of(diagnosis.findings, [](const attn::Finding& finding) {
        return finding.mistake == nullptr && finding.follows.empty();
    });
}

/// Where nothing explains the numbers by the first form of an attention, another form of it may:
/// what was done to a state shows in the recurrent one alone.
void try_other_forms(const Arguments& arguments, const DiagnosedWalk& asked,
                     const attn::DiagnoseOptions& options, attn::Diagnosis& diagnosis) {
    if (arguments.has(flags::form) || diagnosis.steps.empty() || !is_open_end(diagnosis)) return;
    for (const auto& file : asked.config.attentions) {
        for (const std::string& form : file->forms) {
            if (form == file->walked_form(asked.config.form)) continue;  // tried already
            attn::WalkConfig other = asked.config;
            other.form = form;
            attn::Diagnosis tried;
            try {
                const attn::Plan plan = attn::resolve(std::move(other));
                tried = attn::diagnose(plan, attn::draw(plan), asked.theirs, options);
            } catch (const attn::Error&) {
                continue;  // that form is too large, or these tensors do not fit it
            }
            if (is_right(tried) || is_open_end(tried)) continue;
            diagnosis = std::move(tried);
            diagnosis.remarks.push_back("told by the form " + form + ": --form " + form);
            return;
        }
    }
}

/// Other settings where gradients alone tell of the walk: the first under which they are right.
bool try_other_ways_back(const Arguments& arguments, const DiagnosedWalk& asked,
                         const GradientsApart& apart, const attn::DiagnoseOptions& options,
                         attn::Diagnosis& diagnosis, attn::GradientDiagnosis& back) {
    for (const OtherSettings& other : other_settings(arguments, asked)) {
        try {
            const attn::Plan plan = attn::resolve(other.config);
            attn::Diagnosis tried = attn::diagnose(plan, attn::draw(plan), asked.theirs, options);
            attn::GradientDiagnosis again = diagnose_back(arguments, apart, options, tried);
            if (!again.right()) continue;
            diagnosis = std::move(tried);
            back = std::move(again);
        } catch (const attn::Error&) {
            continue;  // these tensors do not fit that setting
        }
        diagnosis.remarks.push_back("with " + other.flags +
                                    " the gradients are right; without, not"
                                    ". Which is it? Pass " +
                                    other.flags + " if it is what you meant");
        return !asked.is_probe;
    }
    return false;
}

/// What is said where gradients alone were judged.
std::string remarks_text(const attn::Diagnosis& diagnosis) {
    std::string text;
    for (const std::string& remark : diagnosis.remarks) text += remark + "\n";
    return text;
}

/// What is to be said beside the findings.
void add_remarks(const DiagnosedWalk& asked, const attn::DiagnoseOptions& options,
                 const attn::Plan& plan, attn::Diagnosis& diagnosis) {
    std::vector<std::string>& remarks = diagnosis.remarks;
    if (is_right(diagnosis) && !diagnosis.steps.empty() && !options.tolerance &&
        !options.decimals) {
        const std::vector<const attn::Mistake*> below = attn::below_rounding(diagnosis);
        if (!below.empty()) {
            remarks.push_back("these numbers cannot show: " + attn::ids_of(below));
        }
    }
    if (is_open_end(diagnosis) && !options.pairs) {
        remarks.emplace_back("no mistake alone explains it: --pairs tries two at once");
    }
    std::vector<std::string> assumed = asked.assumed;
    std::ranges::copy(attn::sizes_told(asked.config, plan), std::back_inserter(assumed));
    for (const std::string& each : assumed) remarks.push_back("assumed: " + each);
}

/// Writes the verdicts, those of gradients after those of the walk.
void write_verdicts(const Arguments& arguments, const attn::Diagnosis& diagnosis, bool goes_back,
                    const attn::GradientDiagnosis& back) {
    write_text_or_json(
        arguments,
        [&] {
            return (diagnosis.steps.empty() && goes_back
                        ? remarks_text(diagnosis)
                        : attn::diagnosis_text(diagnosis, ink_of(arguments))) +
                   gradients_text(back);
        },
        [&] {
            attn::JsonText json("");
            json.text = attn::diagnosis_json(diagnosis);
            json.text.pop_back();  // its line break
            return goes_back ? json.with("gradients", gradients_json(back)).text : json.text;
        });
}

int run_diagnose(const Arguments& typed) {
    Arguments arguments = with_probe_settings(typed);
    if (arguments.has(flags::power)) return run_power(arguments);
    if (!arguments.has(flags::file)) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const attn::Ledger whole = attn::heads_together(read_ledger(arguments[flags::file], true));
    std::map<std::string, std::string> of_page = put_walk_of_tensors_under(arguments, whole);
    const GradientsApart apart = gradients_apart(arguments, whole);
    attn::DiagnoseOptions options = said_options(arguments, whole);
    options.steps.merge(of_page);
    const DiagnosedWalk asked = asked_walk(arguments, apart.forward, options.steps);
    options.takes_projections = asked.takes_projections;
    options.has_all_inputs = asked.is_probe;
    options.goes_back = !apart.gradients.entries().empty();
    if (std::string reason = why_not_judged(asked); !reason.empty()) {
        attn::Diagnosis unjudged;
        unjudged.remarks.push_back(std::move(reason));
        write_verdicts(arguments, unjudged, false, {});
        return no_verdict;
    }
    Progress progress;
    options.progress = [&progress](const std::string& step, double done) {
        progress.show(done, step);
    };
    const attn::Plan plan = attn::resolve(asked.config);
    check_map(options, plan);
    note_useless_flags(arguments, &plan);
    tell_cost_of_mistakes(plan);
    auto [diagnosis, is_open] = diagnose_as_it_fits(arguments, asked, plan, options);
    attn::GradientDiagnosis back = diagnose_back(arguments, apart, options, diagnosis);
    if (diagnosis.steps.empty() && !back.right()) {
        is_open = try_other_ways_back(arguments, asked, apart, options, diagnosis, back);
    }
    progress.clear();
    diagnosis.in_numpy = is_of_numpy(arguments[flags::file], whole);
    refuse_wide_tolerance(options, diagnosis);
    if (std::string reason = why_not_judged(asked, diagnosis); !reason.empty()) {
        diagnosis.steps.clear();
        diagnosis.findings.clear();
        diagnosis.remarks = {std::move(reason)};
    } else {
        add_remarks(asked, options, plan, diagnosis);
    }
    write_verdicts(arguments, diagnosis, options.goes_back, back);
    const bool has_steps = !diagnosis.steps.empty() || back.compared.empty();
    const bool partial = arguments.has(flags::partial);
    const int code = has_steps ? exit_code_of(diagnosis, partial, !back.compared.empty()) : 0;
    const bool left_out = !back.skipped.empty() && !partial;
    return is_open || left_out ? no_verdict : std::max(code, gradients_code(back));
}

}  // namespace

FittingDiagnosis diagnose_as_it_fits(const Arguments& arguments, const DiagnosedWalk& asked,
                                     const attn::Plan& plan, const attn::DiagnoseOptions& options) {
    FittingDiagnosis fitting{attn::diagnose(plan, attn::draw(plan), asked.theirs, options)};
    attn::Diagnosis& diagnosis = fitting.diagnosis;
    fitting.is_open =
        ask_alignment(arguments, asked, options, diagnosis) ||
        (!is_right(diagnosis) && try_other_settings(arguments, asked, options, diagnosis));
    try_other_forms(arguments, asked, options, diagnosis);
    return fitting;
}

namespace {

const std::vector<Flag>& diagnose_flags() {
    const Need a_file{[](const Arguments& arguments) { return !arguments.has(flags::power); },
                      nullptr, "a file to diagnose: leave --power out"};
    static const std::vector<Flag> all{
        {flags::file, "FILE",
         "what your code computed: .npz, .safetensors, .json or a folder of .npy", file()},
        {flags::given, "FILE", "a file with x and parameters, by their names", file()},
        Flag{flags::decimals, "N", "your numbers are copies with N decimals", integer(0, 17)}
            .typed_only()
            .needing(a_file),
        Flag{flags::backward, "", "judge gradients, as dq or q.grad: FILE must have some"}
            .typed_only()
            .needing(a_file),
        loss_flag().needing(a_file),
        Flag{flags::pairs, "", "try two mistakes at once where one does not match"}.needing(a_file),
        Flag{flags::partial, "",
             "let tensors that are no step be left out: exit code 0 all the same"}
            .typed_only()
            .needing(a_file),
        Flag{flags::power, "", "say which mistakes this input could reveal"}.typed_only(),
    };
    return all;
}

}  // namespace

Command diagnose_command() {
    return {"diagnose",
            "find the mistake in your own tensors",
            {diagnose_flags, tolerance_flags, json_flags, file_flags, color_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_diagnose,
            {{"attn-explain diagnose mine.npz --given probe.npz",
              "Names the mistake in what your code made of a probe."}}};
}

}  // namespace app
