#include "attn/judge/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/explained.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

attn::DiagnoseOptions specified_options(const Arguments& arguments, const attn::Ledger& file) {
    attn::DiagnoseOptions options;
    if (const auto decimals = arguments[flags::decimals]) {
        options.decimals = static_cast<int>(*decimals);
    }
    options.pairs = arguments.has(flags::pairs);
    options.tolerance = tolerance_of(arguments);
    options.steps = mapped_names(arguments, file);
    return options;
}

/// Errors  ConfigError for a step of --map that this walk does not have.
void check_map(const attn::DiagnoseOptions& options, const attn::Plan& plan) {
    for (const auto& [user_name, step] : options.steps) {
        const std::string begin = step.starts_with("d_") ? "d_" : "";
        attn::find_step(attn::kept_table(plan), step.substr(begin.size()));
    }
}

/// Reports which mistakes the input of the flags (and files) can reveal.
int run_power(const Arguments& arguments) {
    const attn::Ledger file =
        arguments.has(flags::file) ? read_ledger(arguments[flags::file]) : attn::Ledger();
    DiagnosedWalk requested = requested_walk(arguments, file, {});
    const attn::Plan plan = attn::resolve(std::move(requested.config));
    note_useless_flags(arguments, &plan);
    note_cost_of_mistakes(plan);
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
    const bool is_whole = std::ranges::all_of(diagnosis.skipped, &attn::Skipped::is_number);
    return is_whole || partial ? 0 : no_verdict;
}

/// True if a file comes from NumPy: an archive without names of modules.
bool is_of_numpy(const std::string& name, const attn::Ledger& file) {
    const bool is_archive = name.ends_with(".npz") || name.ends_with(".npy");
    return is_archive && std::ranges::none_of(file.entries(), [](const auto& entry) {
               return entry.name.find('.') != std::string::npos;
           });
}

/// Returns the remarks for a run that judged gradients alone.
std::string remarks_text(const attn::Diagnosis& diagnosis) {
    std::string text;
    for (const std::string& remark : diagnosis.remarks) text += remark + "\n";
    return text;
}

/// Adds remarks to the findings.
void add_remarks(const DiagnosedWalk& requested, const attn::DiagnoseOptions& options,
                 const attn::Plan& plan, attn::Diagnosis& diagnosis) {
    std::vector<std::string>& remarks = diagnosis.remarks;
    if (diagnosis.is_right() && !diagnosis.steps.empty() && !options.tolerance &&
        !options.decimals) {
        const std::vector<const attn::Mistake*> below = attn::below_rounding(diagnosis);
        if (!below.empty()) {
            remarks.push_back("these numbers cannot reveal: " + attn::ids_of(below));
        }
    }
    if (diagnosis.has_open_end() && !options.pairs) {
        remarks.emplace_back("no single mistake explains it: --pairs tries two at once");
    }
    std::vector<std::string> assumed = requested.assumed;
    std::ranges::copy(attn::size_remarks(requested.config, plan), std::back_inserter(assumed));
    for (const std::string& each : assumed) remarks.push_back("assumed: " + each);
}

/// Returns the decimals to which a student rounded the answers in a workbook, whose inputs have all
/// digits.
std::optional<int> decimals_of_answers(const attn::Ledger& file) {
    attn::Ledger answers;
    for (const auto& [name, tensor] : file.entries()) {
        const attn::StepTable& table = attn::step_table();
        const auto step = std::ranges::find(table, name, &attn::Step::name);
        if (step != table.end() && step->kind == attn::Step::Kind::computed) {
            answers.record(name, tensor);
        }
    }
    const int decimals = attn::decimals_of(answers);
    return decimals > 0 ? std::optional(decimals) : std::nullopt;
}

/// Puts the right numbers into the empty cells of a workbook, so that the others are judged, and
/// returns a remark on each tensor that has some.
std::vector<std::string> fill_empty_cells(const attn::Plan& plan, attn::Ledger& user_tensors) {
    std::vector<std::string> remarks;
    const attn::Ledger walk = attn::walk(plan, attn::draw(plan), attn::step_table(plan));
    attn::Ledger filled;
    for (const auto& [name, tensor] : user_tensors.entries()) {
        const attn::Tensor* const correct = walk.find(name);
        const bool fits = correct != nullptr && correct->shape() == tensor.shape();
        attn::Array<double> numbers = attn::empty_array<double>(tensor.shape());
        std::size_t empty = 0;
        for (std::size_t i = 0; i < tensor.size(); ++i) {
            const bool is_empty = fits && std::isnan(tensor.at(i)) && !std::isnan(correct->at(i));
            empty += is_empty ? 1 : 0;
            numbers.data()[i] = is_empty ? correct->at(i) : tensor.at(i);
        }
        const attn::Tensor whole(tensor.axes(), std::move(numbers));
        filled.record(name, empty > 0 ? attn::cast(whole, tensor.dtype()) : tensor);
        if (empty == 0) continue;
        remarks.push_back(
            name + ": " + std::to_string(empty) + " of " + std::to_string(tensor.size()) +
            (empty == 1 ? " cells is empty" : " cells are empty") + "; the others are judged");
    }
    user_tensors = std::move(filled);
    return remarks;
}

/// Lists the cells of a filled workbook that are wrong, and the rules that they should follow.
std::string wrong_cells_text(const attn::Ledger& file, const attn::Diagnosis& diagnosis) {
    const attn::Plan& plan = *diagnosis.plan;
    const std::vector<std::string> tokens =
        plan.query_tokens.size() == 1 ? plan.query_tokens[0] : std::vector<std::string>();
    std::string text, step;
    std::size_t count = 0;
    for (const WrongPrintedCell& each : proof_of("", file, diagnosis, tokens).wrong) {
        constexpr std::size_t most_cells = 12;
        if (each.step != step) {
            step = each.step;
            count = 0;
            const attn::StepTable& table = attn::step_table(plan);
            text += "\n" + attn::displayed_rule({plan, table, attn::find_step(table, step)}) + "\n";
        }
        if (count < most_cells) text += "  " + each.text() + "\n";
        if (count++ == most_cells) text += "  ...\n";
    }
    return text;
}

/// The verdicts on a file, or on one of its layers.
struct Verdicts {
    attn::Diagnosis diagnosis{};
    attn::GradientDiagnosis back{};
    bool has_backward = false;
    std::string cells{};
    attn::DiagnoseOptions options{};
    int code = no_verdict;

    /// Those of gradients come after those of the walk.
    std::string text(const Arguments& arguments) const {
        return (diagnosis.steps.empty() && has_backward
                    ? remarks_text(diagnosis)
                    : attn::diagnosis_text(diagnosis, ink_of(arguments))) +
               cells + gradients_text(back);
    }
    attn::JsonText json() const {
        attn::JsonText json("");
        json.text = attn::diagnosis_json(diagnosis);
        json.text.pop_back();  // its line break
        return has_backward ? json.with("gradients", gradients_json(back)) : json;
    }
};

Verdicts verdicts_on(Arguments arguments, const attn::Ledger& file) {
    const attn::Ledger whole = attn::heads_together(file);
    std::map<std::string, std::string> of_page = set_defaults_from_tensors(arguments, whole);
    SplitGradients split = split_gradients(arguments, whole);
    attn::DiagnoseOptions options = specified_options(arguments, whole);
    options.steps.merge(of_page);
    const bool is_workbook = std::string(arguments[flags::file]).ends_with(".xlsx");
    if (is_workbook && !options.decimals) options.decimals = decimals_of_answers(whole);
    DiagnosedWalk requested = requested_walk(arguments, split.forward, options.steps);
    // A workbook fixes its settings, as a probe does.
    requested.is_probe = requested.is_probe || is_workbook;
    requested.specified.mask = requested.specified.mask || is_workbook;
    requested.loss = [&](const attn::Plan& plan) { return specified_loss(arguments, plan); };
    options.takes_projections = requested.takes_projections;
    options.has_all_inputs = requested.is_probe;
    options.has_backward = !split.gradients.entries().empty();
    for (auto& [name, tensor] : split.forward.entries()) split.gradients.record(name, tensor);
    requested.backward = std::move(split.gradients);
    Verdicts verdicts{.has_backward = options.has_backward};
    if (std::string reason = why_not_judged(requested); !reason.empty()) {
        verdicts.diagnosis.remarks.push_back(std::move(reason));
        verdicts.has_backward = false;
        return verdicts;
    }
    Progress progress;
    options.progress = [&progress](const std::string& step, double done) {
        progress.show(done, step);
    };
    const attn::Plan plan = attn::resolve(requested.config);
    check_map(options, plan);
    note_useless_flags(arguments, &plan);
    note_cost_of_mistakes(plan);
    std::vector<std::string> empty;
    if (is_workbook) empty = fill_empty_cells(plan, requested.user_tensors);
    attn::FittingDiagnosis fitting = attn::diagnose_as_it_fits(requested, plan, options);
    progress.clear();
    attn::Diagnosis& diagnosis = fitting.diagnosis;
    diagnosis.in_numpy = is_of_numpy(arguments[flags::file], whole);
    if (std::string reason = why_not_judged(requested, diagnosis); !reason.empty()) {
        diagnosis.steps.clear();
        diagnosis.findings.clear();
        diagnosis.remarks = {std::move(reason)};
    } else {
        add_remarks(requested, options, plan, diagnosis);
        std::ranges::copy(empty, std::back_inserter(diagnosis.remarks));
    }
    if (is_workbook && !diagnosis.steps.empty()) {
        verdicts.cells = wrong_cells_text(requested.user_tensors, diagnosis);
    }
    const attn::GradientDiagnosis& back = fitting.back;
    const bool has_steps = !diagnosis.steps.empty() || back.compared.empty();
    const bool partial = arguments.has(flags::partial);
    const int code = has_steps ? exit_code_of(diagnosis, partial, !back.compared.empty()) : 0;
    const bool left_out = !back.skipped.empty() && !partial;
    const bool is_partly_empty = !empty.empty() && code == 0;
    verdicts.code = fitting.is_open || left_out || is_partly_empty
                        ? no_verdict
                        : std::max(code, gradients_code(back));
    verdicts.diagnosis = std::move(fitting.diagnosis);
    verdicts.back = std::move(fitting.back);
    options.progress = nullptr;  // the line on the terminal ends with this call
    verdicts.options = std::move(options);
    return verdicts;
}

/// Judges each layer of a file on its own, and writes all verdicts.
int run_layers(const Arguments& arguments, const std::vector<attn::FileLayer>& layers) {
    if (specified_form(arguments) == "html") {
        throw attn::ConfigError(
            std::string(arguments[flags::file]) + " has " + std::to_string(layers.size()) +
            " layers, and a page shows one: write .txt or .json, or save the tensors of one layer");
    }
    std::string text;
    std::vector<attn::JsonText> all;
    std::vector<int> codes;
    for (const attn::FileLayer& layer : layers) {
        const Verdicts verdicts = verdicts_on(arguments, layer.tensors);
        text += (text.empty() ? "" : "\n") + attn::visible(layer.name) + "\n\n" +
                verdicts.text(arguments);
        all.push_back(verdicts.json().with("layer", attn::JsonText(layer.name)));
        codes.push_back(verdicts.code);
    }
    write_text_or_json(arguments, text, {{"layers", all}});
    return std::ranges::count(codes, 1) > 0 ? 1 : std::ranges::max(codes);
}

int run_diagnose(const Arguments& typed) {
    const Arguments arguments = with_probe_settings(typed);
    if (arguments.has(flags::power)) return run_power(arguments);
    if (!arguments.has(flags::file)) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const attn::Ledger file = read_ledger(arguments[flags::file], true);
    if (const std::optional<int> code = explained_trace(arguments, file)) return *code;
    if (const auto layers = attn::split_layers(file); !layers.empty()) {
        return run_layers(arguments, layers);
    }
    const Verdicts verdicts = verdicts_on(arguments, file);
    if (specified_form(arguments) == "html") {
        const std::string remarks =
            remarks_text(verdicts.diagnosis) + gradients_text(verdicts.back) + verdicts.cells;
        write_text(arguments, page_of(verdicts.diagnosis, verdicts.options, remarks,
                                      arguments[flags::file], command_line("diagnose", arguments)));
    } else {
        write_text_or_json(arguments, verdicts.text(arguments), verdicts.json());
    }
    return verdicts.code;
}

std::vector<Flag> diagnose_flags() {
    const Need a_file = without<flags::power>("a file to diagnose: leave --power out");
    return {
        {flags::file, "FILE",
         "what your code computed: .npz, .safetensors, .json or a folder of .npy", file()},
        {flags::given, "FILE", "a file with x and parameters under their names", file()},
        Flag{flags::decimals, "N", "your numbers were rounded to N decimals", integer(0, 17)}
            .typed_only()
            .needing(a_file),
        Flag{flags::backward, "", "judge gradients, such as dq or q.grad: FILE must contain some"}
            .typed_only()
            .needing(a_file),
        loss_flag().needing(a_file),
        Flag{flags::pairs, "", "try two mistakes at once if no single one matches"}.needing(a_file),
        Flag{flags::partial, "", "ignore unrecognised tensors; exit code 0 is still possible"}
            .typed_only()
            .needing(a_file),
        Flag{flags::power, "", "list the mistakes that this input could reveal"}.typed_only(),
        output_flag({".txt", ".json", ".html"}),
    };
}

}  // namespace

Command diagnose_command() {
    return {"diagnose",
            "find the mistake in your own tensors",
            {table<diagnose_flags>, tolerance_flags, json_flags, color_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_diagnose,
            {{"attn-explain diagnose mine.npz --given probe.npz",
              "Names the mistake in your code's output for a probe."},
             {"attn-explain diagnose mine.npz --given probe.npz -o mistake.html",
              "Shows your tensors beside the right ones, each with its verdict."}}};
}

}  // namespace app
