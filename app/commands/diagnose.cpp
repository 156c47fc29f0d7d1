#include "attn/diagnose/diagnose.hpp"

#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/backward/backward.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/diagnose/their_tensors.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/plan/given_sizes.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

/// Something of theirs has no verdict: no known mistake matches, or it was not compared.
constexpr int no_verdict = 3;

attn::DiagnoseOptions options_of(const Arguments& arguments, const attn::Ledger& file) {
    attn::DiagnoseOptions options;
    if (const auto decimals = arguments[flags::decimals]) {
        options.decimals = static_cast<int>(*decimals);
    }
    options.pairs = arguments.has(flags::pairs);
    options.tolerance = tolerance_of(arguments);
    for (const std::string& entry : arguments[flags::map]) {
        const std::size_t colon = entry.find(':');
        const std::string theirs = entry.substr(0, colon);
        if (colon == std::string::npos || !file.has(theirs)) {
            throw attn::ConfigError("--map '" + entry +
                                    "' is not like theirs:ours with a name that the file has");
        }
        options.steps[theirs] = attn::find_step(attn::step_table(), entry.substr(colon + 1)).name;
    }
    return options;
}

/// Somebody's tensors, those of the way forth and the gradients.
struct GradientsApart {
    attn::Ledger forward{}, gradients{};
    bool has_steps = false;  ///< of the way forth, beside what it starts from
};

GradientsApart gradients_apart(const attn::Ledger& file) {
    GradientsApart apart;
    for (const auto& [name, tensor] : file.entries()) {
        const bool is_gradient = !attn::gradient_called(name).empty();
        (is_gradient ? apart.gradients : apart.forward).record(name, tensor);
        const std::vector<std::string> steps = attn::known_steps(name);
        if (is_gradient || steps.empty()) continue;
        const attn::Step::Kind kind = attn::find_step(attn::step_table(), steps.front()).kind;
        apart.has_steps = apart.has_steps || kind == attn::Step::Kind::computed ||
                          kind == attn::Step::Kind::detail;
    }
    return apart;
}

/// The gradients against those of the walk: of the last step's, where they have it, else of the
/// sum.
attn::GradientDiagnosis diagnose_back(const attn::Plan& plan, const GradientsApart& apart) {
    if (apart.gradients.entries().empty() || plan.fused()) return {};
    attn::Loss loss;
    std::string last;
    for (const attn::Step& step : attn::step_table(plan)) {
        if (step.applies(plan) && step.chain == attn::Chain::contexts) last = step.name;
    }
    const attn::Shape shape = attn::find_step(attn::step_table(), last).outline(plan).shape;
    for (const auto& [name, tensor] : apart.gradients.entries()) {
        const std::vector<std::string> steps = attn::gradient_called(name);
        const auto step = std::ranges::find_if(steps, [&](const std::string& each) {
            return attn::has_step(attn::step_table(plan), plan, each);
        });
        if (step == steps.end() || *step != last || tensor.shape() != shape) continue;
        loss.kind = attn::Loss::Kind::upstream;
        loss.target = tensor;
    }
    const attn::StepTable table = attn::with_gradients(attn::step_table(plan), plan, loss);
    return attn::diagnose_gradients(plan, attn::draw(plan), table, apart.gradients);
}

/// The gradients for people, empty where there are none; and as JSON.
std::string gradients_text(const attn::GradientDiagnosis& back) {
    if (back.compared.empty()) return {};
    std::string text = "\ngradients: " + attn::joined(back.compared, ", ") + "\n";
    if (back.wrong.empty()) return text + "  right: the way back is that of this walk\n";
    text += "  wrong: " + attn::joined(back.wrong, ", ") + "\n";
    if (back.fits.empty()) return text + "  no known mistake of the way back makes them\n";
    for (const attn::Mistake* mistake : back.fits) {
        text += std::string(mistake == back.fits.front() ? "  " : "  or, with the same numbers, ") +
                mistake->id + ": " + mistake->title + "\n    fix: " + mistake->fix_torch + "\n";
    }
    return text;
}

attn::JsonText gradients_json(const attn::GradientDiagnosis& back) {
    std::vector<std::string> ids;
    for (const attn::Mistake* mistake : back.fits) ids.push_back(mistake->id);
    return {{"compared", back.compared}, {"wrong", back.wrong}, {"mistakes", ids}};
}

/// Says which mistakes the input of the flags (and files) can reveal.
int run_power(const Arguments& arguments) {
    const attn::Ledger file =
        arguments.has(flags::file) ? read_ledger(arguments[flags::file]) : attn::Ledger();
    Asked asked = asked_walk(arguments, file, {});
    const attn::Plan plan = attn::resolve(std::move(asked.config));
    note_useless_flags(arguments, &plan);
    const attn::Power power = attn::power(plan, attn::draw(plan));
    write_text_or_json(
        arguments, [&] { return attn::power_text(power); },
        [&] { return attn::power_json(power); });
    return 0;
}

int exit_code_of(const attn::Diagnosis& diagnosis, bool partial) {
    if (diagnosis.has_unknown()) return no_verdict;
    if (diagnosis.has_mistake()) return 1;
    if (!diagnosis.judges_a_step()) return no_verdict;
    return diagnosis.skipped.empty() || partial ? 0 : no_verdict;
}

/// The cost of a diagnosis in which nothing is wrong.
constexpr double of_right = 8;

bool is_right(const attn::Diagnosis& diagnosis) {
    return !diagnosis.has_mistake() && !diagnosis.has_unknown();
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

/// Other settings that nothing has fixed, each a small change: another mask, order of query,
/// key and value in one weight, layout of a square one, or number of heads.
struct OtherSetting {
    std::string flag;  ///< as it would be typed
    attn::WalkConfig config;
};

std::vector<OtherSetting> other_settings(const Arguments& arguments, const Asked& asked) {
    std::vector<OtherSetting> others;
    const attn::WalkConfig& config = asked.config;
    const auto add = [&](const std::string& flag, auto change) {
        attn::WalkConfig other = config;
        change(other);
        others.push_back({flag, std::move(other)});
    };
    // By value: what it starts from may be one of the others, which move as they grow.
    const auto add_causal = [&](const std::string& flag, attn::WalkConfig other) {
        other.mask.causal = true;
        const std::string causal = flag + (flag.empty() ? "" : " ") + "--mask causal";
        others.push_back({causal, other});
        // Fewer queries than keys may be the last ones.
        if (!other.memory || arguments.has(flags::causal_align)) return;
        other.causal_align = attn::CausalAlign::end;
        others.push_back({causal + " --causal-align end", std::move(other)});
    };
    const attn::Tensor* query = config.parameters.find("w_query");
    const attn::Tensor* fused = config.parameters.find("w_qkv");
    if (const attn::Tensor* w = fused != nullptr ? fused : query;
        !arguments.has(flags::heads) && config.heads == 1 && w != nullptr) {
        const bool in_out = config.weight_layout == attn::WeightLayout::in_out;
        const auto all = static_cast<std::int64_t>(
            (in_out ? w->shape().back() : w->shape().front()) / (fused != nullptr ? 3 : 1));
        for (std::int64_t heads = 2; heads <= std::min<std::int64_t>(all / 2, 32); ++heads) {
            if (all % heads != 0) continue;
            const std::string flag = "--heads " + std::to_string(heads);
            add(flag, [heads](attn::WalkConfig& other) {
                other.heads = heads;
                other.head_dim.reset();
                other.value_dim.reset();
            });
            if (!asked.says_mask) add_causal(flag, others.back().config);
        }
    }
    if (!asked.says_mask) add_causal("", config);
    if (!arguments.has(flags::projection) && config.projection == attn::Projection::fused) {
        add("--projection fused-by-head",
            [](attn::WalkConfig& other) { other.projection = attn::Projection::fused_by_head; });
    }
    const std::size_t axes = query != nullptr ? query->dimension() : 0;
    const bool square = axes >= 2 && query->shape()[axes - 2] == query->shape().back();
    if (!arguments.has(flags::weight_layout) && square && !config.weight_layout) {
        add("--weight-layout in-out",
            [](attn::WalkConfig& other) { other.weight_layout = attn::WeightLayout::in_out; });
    }
    return others;
}

/// Diagnoses anew under settings that nothing has fixed, and takes the verdict with the fewest
/// findings. Where another setting gives another verdict both are said: only the author knows which
/// setting was meant. What a probe says is never taken otherwise.
///
/// Returns whether there are two verdicts.
bool try_other_settings(const Arguments& arguments, const Asked& asked,
                        const attn::DiagnoseOptions& options, attn::Diagnosis& best) {
    const std::string without = verdict_of(best);
    const std::size_t skipped = best.skipped.size();
    std::string taken;
    for (OtherSetting& other : other_settings(arguments, asked)) {
        attn::Diagnosis tried;
        attn::DiagnoseOptions within = options;
        within.bound = asked.is_probe ? of_right : best.cost;
        try {
            const attn::Plan plan = attn::resolve(std::move(other.config));
            tried = attn::diagnose(plan, attn::draw(plan), asked.theirs, within);
        } catch (const attn::Error&) {
            continue;  // these tensors do not fit that setting
        }
        if (tried.cost >= within.bound || tried.skipped.size() > skipped) continue;
        if (asked.is_probe) {
            best.remarks.push_back("yours matches with " + other.flag +
                                   ", which the probe is without");
            return false;
        }
        best = std::move(tried);
        taken = other.flag;
    }
    if (taken.empty()) return false;
    best.remarks.push_back("with " + taken + ": " + verdict_of(best) + "; without: " + without +
                           ". Which is it? Pass " + taken + " if it is what you meant");
    return true;
}

int run_diagnose(const Arguments& typed) {
    const Arguments arguments = with_probe_settings(typed);
    if (arguments.has(flags::power)) return run_power(arguments);
    if (!arguments.has(flags::file)) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const GradientsApart apart = gradients_apart(read_ledger(arguments[flags::file], true));
    const attn::Ledger& file = apart.forward;
    attn::DiagnoseOptions options = options_of(arguments, file);
    Asked asked = asked_walk(arguments, file, options.steps);
    options.takes_projections = asked.takes_projections;
    Progress progress;
    options.progress = [&progress](const std::string& step, double done) {
        progress.show(done, step);
    };
    const attn::Plan plan = attn::resolve(asked.config);
    note_useless_flags(arguments, &plan);
    const attn::GradientDiagnosis back = diagnose_back(plan, apart);
    if (!back.compared.empty() && !apart.has_steps) {
        write_text_or_json(
            arguments, [&] { return gradients_text(back); },
            [&] {
                return attn::JsonText{{"gradients", gradients_json(back)}}.text;
            });
        return back.wrong.empty() ? 0 : back.fits.empty() ? no_verdict : 1;
    }
    attn::Diagnosis diagnosis = attn::diagnose(plan, attn::draw(plan), asked.theirs, options);
    const bool is_open =
        !is_right(diagnosis) && try_other_settings(arguments, asked, options, diagnosis);
    progress.clear();
    if (diagnosis.has_unknown() && !options.pairs) {
        diagnosis.remarks.emplace_back("no mistake alone explains it: --pairs tries two at once");
    }
    for (const std::string& size : attn::sizes_told(asked.config, plan)) {
        asked.assumed.push_back(size);
    }
    for (const std::string& assumed : asked.assumed) {
        diagnosis.remarks.push_back("assumed: " + assumed);
    }
    write_text_or_json(
        arguments,
        [&] { return attn::diagnosis_text(diagnosis, ink_of(arguments)) + gradients_text(back); },
        [&] {
            attn::JsonText json("");
            json.text = attn::diagnosis_json(diagnosis);
            json.text.pop_back();  // its line break
            return back.compared.empty() ? json.text
                                         : json.with("gradients", gradients_json(back)).text;
        });
    const int code = exit_code_of(diagnosis, arguments.has(flags::partial));
    if (is_open || (!back.wrong.empty() && back.fits.empty())) return no_verdict;
    return code == 0 && !back.wrong.empty() ? 1 : code;
}

const std::vector<Flag>& diagnose_flags() {
    const Need a_file{[](const Arguments& arguments) { return !arguments.has(flags::power); },
                      nullptr, "a file to diagnose: leave --power out"};
    static const std::vector<Flag> all{
        {flags::file, "FILE",
         "what your code computed: .npz, .safetensors, .json or a folder of .npy", file()},
        {flags::given, "FILE", "a file with x and parameters, by their names", file()},
        Flag{flags::map, "NAMES", "your name for a step: theirs:ours"}.repeatable().needing(a_file),
        Flag{flags::decimals, "N", "your numbers are copies with N decimals", integer(0, 17)}
            .typed_only()
            .needing(a_file),
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
