#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

namespace app {
namespace {

/// A sentence on given weights of which a row does not sum to 1, as far as decimals tell.
std::string rows_off(const attn::Plan& plan, const attn::Ledger& given) {
    if (attn::beginning_of(plan.config) != "weights" || plan.config.sigmoid) return "";
    const attn::Tensor& weights = given["weights"];
    const std::optional<OffRow> off = row_off_one(weights, 0.011);
    if (!off) return "";
    attn::Shape row = attn::indices_of(off->first, weights.shape());
    row.pop_back();
    return "weights" + attn::index_text(row) + " sums to " + attn::brief(off->sum) +
           ", and each row should sum to 1";
}

/// A number of theirs that is not what the steps before it make.
struct WrongCell {
    std::string step, name;
    attn::Shape cell;
    double theirs, ours;

    std::string text() const {
        return attn::visible(name) + attn::index_text(cell) + " is " + attn::brief(theirs) +
               ", and should be " + attn::brief(ours);
    }
};

/// The cell that is furthest off in each step that does not follow from their earlier tensors.
std::vector<WrongCell> wrong_cells(const attn::Diagnosis& diagnosis) {
    std::vector<WrongCell> cells;
    attn::Replay replay(*diagnosis.plan, diagnosis.given);
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const attn::Tensor* const theirs = diagnosis.read.find(row.name);
        const attn::Tensor* const ours = replay.step(row.name);
        if (theirs == nullptr || ours == nullptr || theirs->shape() != ours->shape()) continue;
        if (row.local == attn::Verdict::wrong && !row.harmless) {
            std::size_t worst = 0;
            double most = -1;
            for (std::size_t i = 0; i < ours->size(); ++i) {
                const double apart = std::abs(theirs->at(i) - ours->at(i));
                const bool is_other = !attn::same_number(theirs->at(i), ours->at(i));
                const double off = !is_other ? 0 : std::isnan(apart) ? HUGE_VAL : apart;
                if (off > most) worst = i, most = off;
            }
            cells.push_back({row.name, row.theirs_name, attn::indices_of(worst, ours->shape()),
                             theirs->at(worst), ours->at(worst)});
        }
        replay.take(row.name, *theirs);
    }
    return cells;
}

/// Says which cells are off, in one line at the end and beside their steps.
void add_verdict(const attn::Diagnosis& diagnosis, const std::string& rows,
                 attn::Document& document) {
    std::vector<std::string> said;
    if (!rows.empty()) said.push_back(rows);
    for (const WrongCell& each : wrong_cells(diagnosis)) {
        const auto finding = std::ranges::find(diagnosis.findings, each.step, &attn::Finding::step);
        const bool is_named = finding != diagnosis.findings.end() && finding->mistake() != nullptr;
        const std::string text =
            each.text() + (is_named ? " (" + finding->mistake()->id + ": " +
                                          finding->mistake()->title.visible() + ")"
                                    : "");
        said.push_back(text);
        const auto section = std::ranges::find(document.sections, each.step, &attn::Section::name);
        if (section != document.sections.end()) section->margin += text;
    }
    document.is_wrong = !said.empty();
    if (said.empty()) {
        std::vector<std::string> right;
        for (const attn::StepVerdict& row : diagnosis.steps) {
            if (row.local == attn::Verdict::right) right.push_back(row.theirs_name);
        }
        said.push_back(right.empty()
                           ? "nothing here follows from the rest, so nothing was judged"
                           : attn::joined(right) + (right.size() > 1 ? " follow" : " follows") +
                                 " from the rest");
    }
    for (const attn::Skipped& each : diagnosis.skipped) {
        said.push_back(attn::visible(each.name) + " was not judged: " + each.reason);
    }
    document.verdict = attn::joined(said, "; ");
    document.verdict_key = "verdict";
    document.verdict_json =
        attn::JsonText{{"right", !document.is_wrong}, {"verdict", document.verdict}}.text;
}

/// The tensors of a file. A lone one without a name is what its numbers say. Names of rows that are
/// tokens become `tokens`.
attn::Ledger tensors_in(const std::string& spec, std::vector<std::string>& tokens) {
    std::error_code ignored;
    if (std::filesystem::is_directory(spec, ignored)) return read_ledger(spec);
    attn::Ledger ledger;
    for (attn::NamedTensor& each : attn::read_tensors(spec, report_note)) {
        if (each.name.empty()) each.name = given_as("", each.tensor);
        if (each.name.empty()) {
            throw attn::InputError(
                attn::file_label(spec) +
                ": holds one array without a name, and its rows do not sum to 1 as weights do: say "
                "what it is, as in " +
                (spec == "-" ? "scores = [[1, 2], [3, 4]]" : spec + ":scores"));
        }
        const std::string step = given_as(each.name, each.tensor);
        if (tokens.empty() && !step.starts_with("w_")) tokens = each.row_names;
        ledger.record(each.name, std::move(each.tensor));
    }
    return ledger;
}

std::string names_in(const attn::Ledger& file) {
    std::vector<std::string> names;
    for (const auto& entry : file.entries()) names.push_back(attn::visible(entry.name));
    return attn::some_of(names);
}

attn::Diagnosis diagnosis_of(const DiagnosedWalk& asked, const attn::DiagnoseOptions& options) {
    const attn::Plan plan = attn::resolve(asked.config);
    if (!asked.theirs.entries().empty()) {
        return attn::diagnose_as_it_fits(asked, plan, options).diagnosis;
    }
    attn::Diagnosis nothing_judged;
    nothing_judged.plan = plan;
    nothing_judged.given = attn::draw(plan);
    return nothing_judged;
}

/// How many steps are right in our order of axes.
std::size_t right_as_they_are(const attn::Diagnosis& diagnosis) {
    return static_cast<std::size_t>(
        std::ranges::count_if(diagnosis.steps, [](const attn::StepVerdict& row) {
            return row.global == attn::Verdict::right && row.layout.empty();
        }));
}

/// Print has x @ W, and PyTorch x @ W^T: the numbers tell which of them square matrices are.
attn::Diagnosis diagnosis_in_either_layout(const Arguments& arguments, DiagnosedWalk asked,
                                           const attn::DiagnoseOptions& options) {
    attn::Diagnosis usual = diagnosis_of(asked, options);
    const bool has_layouts = std::ranges::any_of(
        usual.steps, [](const attn::StepVerdict& row) { return !row.layout.empty(); });
    if (arguments.has(flags::weight_layout) || !asked.config.parameters.has("w_query") ||
        !(usual.has_unknown() || has_layouts)) {
        return usual;
    }
    asked.config.weight_layout = attn::WeightLayout::in_out;
    try {
        attn::Diagnosis other = diagnosis_of(asked, options);
        if (right_as_they_are(other) <= right_as_they_are(usual)) return usual;
        other.remarks.emplace_back("--weight-layout in-out");
        return other;
    } catch (const attn::ShapeError&) {
        return usual;  // the matrices fit in one way alone
    }
}

int run_look(const Arguments& arguments) {
    check_output_flags(arguments);
    const std::string spec = arguments.has(flags::file) ? std::string(arguments[flags::file]) : "-";
    std::vector<std::string> tokens;
    const attn::Ledger file = attn::heads_together(tensors_in(spec, tokens));
    attn::DiagnoseOptions options;
    options.has_all_inputs = options.may_be_empty = true;
    options.steps = mapped_names(arguments, file);
    DiagnosedWalk asked = asked_walk(arguments, file, options.steps, true);
    if (!tokens.empty() && !arguments.has(flags::tokens)) asked.config.names = {tokens};
    options.takes_projections = asked.takes_projections;
    if (const std::string reason = why_not_judged(asked); !reason.empty()) {
        throw attn::InputError(attn::file_label(spec) + ": " + reason);
    }
    const bool begins = asked.takes_projections || arguments.has(says_x) ||
                        std::holds_alternative<attn::Tensor>(asked.config.input) ||
                        !attn::beginning_of(asked.config).empty();
    if (!begins) {
        throw attn::InputError(
            attn::file_label(spec) + ": no walk begins with " + names_in(file) +
            ": give x and its matrices, query, key and value, scores, or weights");
    }
    attn::Diagnosis diagnosis = diagnosis_in_either_layout(arguments, asked, options);
    attn::Plan& best = *diagnosis.plan;
    for (const auto& [name, tensor] : diagnosis.given.entries()) {
        const bool is_step =
            attn::find_step(attn::step_table(), name).kind == attn::Step::Kind::computed;
        if (is_step) best.config.parameters.record(name, tensor);
    }
    const attn::StepTable& table = attn::step_table(best);
    attn::Document document =
        attn::document_of(best, attn::walk(best, diagnosis.given), table, true);
    document.config = config_entries(arguments, best);
    document.command = command_line("look", arguments);
    add_verdict(diagnosis, rows_off(best, diagnosis.given), document);
    std::vector<std::string> told = asked.assumed;
    for (const attn::StepVerdict& row : diagnosis.steps) {
        if (row.theirs_name != row.name) {
            told.push_back(attn::visible(row.theirs_name) + " is " + row.name);
        }
    }
    std::ranges::copy(diagnosis.remarks, std::back_inserter(told));
    if (!told.empty()) report_note("assumed: " + attn::joined(told, "; "));
    select_sections(
        arguments, document, [](const auto&, const auto&) { return std::string(); },
        format_of(arguments).keeps_all());
    write_document(arguments, document, form_of(best), best.default_dtype());
    const Format& format = format_of(arguments, form_of(best));
    if (format.printed == nullptr && format.name != "json") report_note(document.verdict);
    return document.is_wrong ? 1 : 0;
}

const std::vector<Flag>& look_flags() {
    static const std::vector<Flag> all{
        {flags::file, "FILE", "your tensors; - or nothing reads standard input", file()}};
    return all;
}

}  // namespace

Command look_command() {
    return {"look",
            "see what pasted tensors are, the walk that they make, and the cell that is off",
            {look_flags, print_flags, output_flags, file_flags, json_flags, color_flags,
             config_flags, walk_flags},
            run_look,
            {{"echo 'scores = [[1, 2], [3, 1]]' | attn-explain look",
              "Shows the weights that these scores make."}}};
}

}  // namespace app
