#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/looked.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/parse.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

namespace app {
namespace {

/// Returns a sentence if a row of given weights does not sum to 1 within the printed decimals.
std::string rows_off(const attn::Plan& plan, const attn::Ledger& given) {
    if (attn::beginning_of(plan.config) != "weights" || plan.config.sigmoid) return "";
    const attn::Tensor& weights = given["weights"];
    const std::optional<OffRow> off = row_off_one(weights, 0.011);
    if (!off) return "";
    attn::Shape row = attn::indices_of(off->first, weights.shape());
    row.pop_back();
    return "weights" + attn::index_text(row) + " sums to " + attn::brief(off->sum) +
           ", but each row should sum to 1";
}

/// One of the user's numbers that does not follow from the steps before it.
struct WrongCell {
    std::string step, name;
    attn::Shape cell;
    double theirs, ours;
    bool harmless;  ///< the results are the same within the printed decimals

    std::string text() const {
        return attn::visible(name) + attn::index_text(cell) + " is " + attn::brief(theirs) +
               (harmless ? ", not " : ", but should be ") + attn::brief(ours) +
               (harmless ? "; later steps are the same to these decimals" : "");
    }
};

/// Returns the cell that is furthest off in each step that does not follow from the user's earlier
/// tensors.
std::vector<WrongCell> wrong_cells(const attn::Diagnosis& diagnosis, const attn::Ledger& file) {
    std::vector<WrongCell> cells;
    attn::Replay replay(*diagnosis.plan, diagnosis.given);
    const OrderedVerdicts ordered(diagnosis, file);
    for (const attn::StepVerdict& row : ordered.rows) {
        const attn::Tensor* const theirs = ordered.theirs.find(row.name);
        const attn::Tensor* const ours = replay.step(row.name);
        if (theirs == nullptr || ours == nullptr || theirs->shape() != ours->shape()) continue;
        if (row.local == attn::Verdict::wrong) {
            std::size_t worst = 0;
            double most = -1;
            for (std::size_t i = 0; i < ours->size(); ++i) {
                const double apart = std::abs(theirs->at(i) - ours->at(i));
                const bool is_other = !attn::same_number(theirs->at(i), ours->at(i));
                const double off = !is_other ? 0 : std::isnan(apart) ? HUGE_VAL : apart;
                if (off > most) worst = i, most = off;
            }
            cells.push_back({row.name, row.theirs_name, attn::indices_of(worst, ours->shape()),
                             theirs->at(worst), ours->at(worst), row.harmless});
        }
        replay.take(row.name, *theirs);
    }
    return cells;
}

/// Reports the wrong cells, in one line at the end and next to their steps.
void add_verdict(const attn::Diagnosis& diagnosis, const attn::Ledger& file,
                 const std::string& rows, attn::Document& document) {
    std::vector<std::string> said;
    if (!rows.empty()) said.push_back(rows);
    const std::vector<WrongCell> cells = wrong_cells(diagnosis, file);
    for (const WrongCell& each : cells) {
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
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const bool is_wrong = row.local == attn::Verdict::wrong && !row.harmless;
        document.is_wrong = document.is_wrong || is_wrong;
        if (is_wrong && std::ranges::count(cells, row.theirs_name, &WrongCell::name) == 0) {
            said.push_back(attn::visible(row.theirs_name) + " does not follow from the rest");
        }
    }
    document.is_wrong = document.is_wrong || !rows.empty();
    if (said.empty()) {
        std::vector<std::string> right;
        for (const attn::StepVerdict& row : diagnosis.steps) {
            if (row.local == attn::Verdict::right) right.push_back(row.theirs_name);
        }
        said.push_back(right.empty()
                           ? "nothing here can be computed from the rest, so nothing was judged"
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

std::string names_in(const attn::Ledger& file) {
    std::vector<std::string> names;
    for (const auto& entry : file.entries()) names.push_back(attn::visible(entry.name));
    return attn::some_of(names);
}

/// Removes the tensors that are not steps of this walk, by their names or by `names`.
std::vector<attn::Skipped> leave_out(const attn::Plan& plan, const std::vector<std::string>& names,
                                     attn::Ledger& theirs) {
    std::vector<attn::Skipped> left_out;
    attn::Ledger kept;
    for (const auto& [name, tensor] : theirs.entries()) {
        const std::vector<std::string> steps = attn::known_steps(name);
        const bool is_step = steps.empty() || !attn::steps_called(name, plan).empty();
        if (!is_step) {
            left_out.push_back({name, attn::no_such_step(steps.front())});
        } else if (std::ranges::find(names, name) != names.end()) {
            left_out.push_back({name, "no step has that name"});
        } else {
            kept.record(name, tensor);
        }
    }
    theirs = std::move(kept);
    return left_out;
}

/// Returns the unknown names whose numbers match no step.
std::vector<std::string> unknown_names(const attn::Diagnosis& diagnosis) {
    std::vector<std::string> names;
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const bool is_wrong = row.local != attn::Verdict::right && !row.harmless;
        if (is_wrong && attn::known_steps(row.theirs_name).empty())
            names.push_back(row.theirs_name);
    }
    return names;
}

/// Leaves x out if no matrix computes query and key from it and the walk can begin later.
/// Returns whether it did.
bool drop_idle_x(attn::Ledger& file) {
    std::string x;
    bool has_matrices = false;
    attn::Ledger steps;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (step == "x") x = name;
        has_matrices = has_matrices || step.starts_with("w_");
        if (!step.empty()) steps.record(step, tensor);
    }
    const bool has_later = !attn::given_beginning(steps).empty() ||
                           (steps.has("query") && steps.has("key") && steps.has("value"));
    if (x.empty() || has_matrices || !has_later) return false;
    file = file.without(x);
    return true;
}

/// Diagnoses the tensors that are steps of this walk; those with unknown names only if their
/// numbers match a step.
attn::Diagnosis diagnosis_of(DiagnosedWalk asked, const attn::DiagnoseOptions& options) {
    const attn::Plan plan = attn::resolve(asked.config);
    std::vector<attn::Skipped> skipped;
    attn::Diagnosis diagnosis;
    std::vector<std::string> names;
    do {
        std::ranges::copy(leave_out(plan, names, asked.theirs), std::back_inserter(skipped));
        if (asked.theirs.entries().empty()) {
            diagnosis = {};
            diagnosis.plan = plan;
            diagnosis.given = attn::draw(plan);
            break;
        }
        diagnosis = attn::diagnose_as_it_fits(asked, plan, options).diagnosis;
        names = unknown_names(diagnosis);
        std::erase_if(names, [&](const auto& name) { return options.steps.contains(name); });
    } while (!names.empty());
    std::ranges::copy(skipped, std::back_inserter(diagnosis.skipped));
    return diagnosis;
}

/// Counts the steps that are right in our order of axes.
std::size_t right_as_they_are(const attn::Diagnosis& diagnosis) {
    return static_cast<std::size_t>(
        std::ranges::count_if(diagnosis.steps, [](const attn::StepVerdict& row) {
            return row.global == attn::Verdict::right && row.layout.empty();
        }));
}

/// True if matrices are named like those of modules or of this program, which are read as x @ W^T.
bool are_of_modules(const attn::Ledger& file) {
    return std::ranges::any_of(file.entries(), [](const auto& entry) {
        return entry.name.find('.') != std::string::npos || entry.name == "w_query";
    });
}

/// Papers write x @ W, PyTorch computes x @ W^T: for square matrices the numbers decide, and if
/// they cannot, the names.
attn::Diagnosis diagnosis_in_either_layout(const Arguments& arguments, DiagnosedWalk asked,
                                           const attn::DiagnoseOptions& options, bool of_modules) {
    const attn::Tensor* const matrix = asked.config.parameters.find("w_query");
    const bool is_square =
        matrix != nullptr && matrix->dimension() == 2 && matrix->shape()[0] == matrix->shape()[1];
    if (arguments.has(flags::weight_layout) || !is_square) return diagnosis_of(asked, options);
    std::optional<attn::Diagnosis> best;
    for (const attn::WeightLayout layout :
         {of_modules ? attn::WeightLayout::out_in : attn::WeightLayout::in_out,
          of_modules ? attn::WeightLayout::in_out : attn::WeightLayout::out_in}) {
        asked.config.weight_layout = layout;
        try {
            attn::Diagnosis found = diagnosis_of(asked, options);
            if (layout == attn::WeightLayout::in_out) {
                found.remarks.emplace_back("--weight-layout in-out, for x @ W");
            }
            if (!best || right_as_they_are(found) > right_as_they_are(*best)) {
                best = std::move(found);
            }
        } catch (const attn::ShapeError&) {
            continue;  // the matrices fit in one layout only
        }
        const bool is_right = std::ranges::all_of(best->steps, [](const attn::StepVerdict& row) {
            return row.local == attn::Verdict::right && row.layout.empty();
        });
        if (is_right) break;
    }
    return best ? *std::move(best) : diagnosis_of(asked, options);  // reports the reason
}

}  // namespace

Looked look_at(const Arguments& arguments, const std::string& label, attn::Ledger file,
               const std::vector<std::string>& tokens) {
    const bool is_idle = !arguments.has(flags::map) && drop_idle_x(file);
    attn::DiagnoseOptions options;
    options.has_all_inputs = options.may_be_empty = true;
    options.steps = mapped_names(arguments, file);
    DiagnosedWalk asked = asked_walk(arguments, file, options.steps, true);
    if (name_rows_of(file, tokens) && !arguments.has(flags::tokens)) {
        asked.config.names = {tokens};
    }
    options.takes_projections = asked.takes_projections;
    Looked looked{{}, asked.assumed, why_not_judged(asked)};
    if (!looked.reason.empty()) {
        looked.reason = label + ": " + looked.reason;
        return looked;
    }
    const bool begins = asked.takes_projections || arguments.has(says_x) ||
                        std::holds_alternative<attn::Tensor>(asked.config.input) ||
                        !attn::beginning_of(asked.config).empty();
    if (!begins) {
        looked.reason = label + ": no walk begins with " + names_in(file) +
                        ": give x and its matrices, query, key and value, scores, or weights";
        return looked;
    }
    looked.diagnosis = diagnosis_in_either_layout(arguments, asked, options, are_of_modules(file));
    if (is_idle) {
        looked.diagnosis.skipped.push_back({"x", "no matrix computes query and key from it"});
    }
    return looked;
}

namespace {

int run_look(const Arguments& arguments) {
    check_output_flags(arguments);
    const std::string spec = arguments.has(flags::file) ? std::string(arguments[flags::file]) : "-";
    if (spec == "-" && isatty(STDIN_FILENO) != 0) {
        report_note_now(
            "paste tensors here, as in scores = [[1, 2], [3, 1]]; Ctrl-D ends the input");
    }
    std::vector<std::string> tokens;
    attn::Ledger file = pasted_tensors(spec, tokens);
    Looked looked = look_at(arguments, attn::file_label(spec), file, tokens);
    if (!looked.reason.empty()) throw attn::InputError(looked.reason);
    attn::Diagnosis& diagnosis = looked.diagnosis;
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
    if (takes_hints(arguments)) document.word_columns = terminal_columns(arguments).value_or(0);
    if (format_of(arguments).name == "xlsx") attn::add_rules(document, best, table);
    add_verdict(diagnosis, file, rows_off(best, diagnosis.given), document);
    std::vector<std::string> told = looked.assumed;
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
        {flags::file, "FILE", "your tensors (default: standard input, as for -)", file()}};
    return all;
}

}  // namespace

Command look_command() {
    return {"look",
            "recognise pasted tensors, show their walk, and name the wrong cell",
            {look_flags, print_flags, output_flags, file_flags, json_flags, color_flags,
             config_flags, walk_flags},
            run_look,
            {{"echo 'scores = [[1, 2], [3, 1]]' | attn-explain look",
              "Shows the weights that these scores give."}}};
}

}  // namespace app
