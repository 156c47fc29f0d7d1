#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/look_result.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/commands/proofread.hpp"
#include "app/commands/wrong_scores.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// One of the user's numbers that does not follow from the steps before it.
struct WrongCell {
    std::string step, name;
    attn::Shape cell;
    double actual, correct;
    bool harmless;  ///< the results are the same within the printed decimals

    std::string text() const {
        return attn::visible(name) + attn::index_text(cell) + " is " + attn::brief(actual) +
               (harmless ? ", not " : ", but should be ") + attn::brief(correct) +
               (harmless ? "; later steps are the same to these decimals" : "");
    }
};

/// Returns the cell that is furthest off in each step that does not follow from the user's earlier
/// tensors.
std::vector<WrongCell> wrong_cells(const LookResult& looked) {
    const attn::Diagnosis& diagnosis = looked.diagnosis;
    std::vector<WrongCell> cells;
    attn::Replay replay(*diagnosis.plan, diagnosis.given);
    const OrderedVerdicts ordered(diagnosis, looked.file);
    for (const attn::StepVerdict& row : ordered.rows) {
        const attn::Tensor* const actual = ordered.actual.find(row.name);
        const attn::Tensor* const correct = replay.step(row.name);
        if (actual == nullptr || correct == nullptr || actual->shape() != correct->shape())
            continue;
        // A tensor that follows from the right ones before it was not made of a misprinted one.
        const bool is_computed_step = row.global == attn::Verdict::right && !cells.empty();
        if (row.local == attn::Verdict::wrong && !is_computed_step) {
            const std::size_t worst = farthest_cell(*actual, *correct).cell;
            cells.push_back({row.name, row.name_in_file, attn::indices_of(worst, correct->shape()),
                             actual->at(worst), correct->at(worst), row.harmless});
        }
        replay.take(row.name, *actual);
    }
    return cells;
}

/// Blames the user's scores, from which the walk begins, if everything after the first wrong step
/// agrees with one other score.
void blame_scores(const LookResult& looked, std::vector<WrongCell>& cells) {
    const attn::Diagnosis& diagnosis = looked.diagnosis;
    const attn::Ledger& file = looked.file;
    const std::string begin = attn::beginning_of(diagnosis.plan->config);
    if (cells.size() != 1 || cells[0].harmless || begin.empty() || begin == "query" ||
        begin == "weights") {
        return;
    }
    const attn::Tensor& scores = diagnosis.given[begin];
    attn::Replay replay(*diagnosis.plan, diagnosis.given);
    const attn::Tensor* const scaled = begin == "scores" ? replay.step("scaled_scores") : nullptr;
    const double factor = scaled == nullptr ? 1 : attn::ratio_between(*scaled, scores).value_or(1);
    const OrderedVerdicts ordered(diagnosis, file);
    const attn::Tensor* const actual = ordered.actual.find(cells[0].step);
    const attn::Tensor* const correct = replay.step(cells[0].step);
    if (actual == nullptr || correct == nullptr) return;
    const auto agrees = [&](const attn::StepVerdict& row) {
        return row.local == attn::Verdict::right && row.global == attn::Verdict::wrong;
    };
    std::optional<WrongScore> wrong;
    if (cells[0].step == "weights") {
        wrong = wrong_score_by_weights(scores, *actual, *correct, factor);
    } else if (cells[0].step == "scaled_scores" && std::ranges::any_of(ordered.rows, agrees)) {
        wrong = wrong_score_by_scaled(scores, *actual, factor);
    }
    if (!wrong) return;
    const auto named = std::ranges::find_if(file.entries(), [&](const auto& entry) {
        return attn::same_numbers(entry.tensor, scores);
    });
    const std::string name = named != file.entries().end() ? named->name : begin;
    cells[0] = {begin, name, wrong->cell, wrong->actual, wrong->correct, false};
}

/// Reports the wrong cells, in one line at the end and next to their steps.
void add_verdict(const LookResult& looked, attn::Document& document) {
    const attn::Diagnosis& diagnosis = looked.diagnosis;
    const std::string rows = looked.off_row();
    std::vector<std::string> specified;
    if (!rows.empty()) specified.push_back(rows);
    std::vector<WrongCell> cells = wrong_cells(looked);
    const std::vector<std::string> wrong_names = collected(cells, &WrongCell::name);
    blame_scores(looked, cells);
    for (WrongCell& each : cells) each.cell = looked.as_given(each.cell);
    for (const WrongCell& each : cells) {
        const auto finding = std::ranges::find(diagnosis.findings, each.step, &attn::Finding::step);
        const bool is_named = finding != diagnosis.findings.end() && finding->mistake() != nullptr;
        const std::string text =
            each.text() + (is_named ? " (" + finding->mistake()->id + ": " +
                                          finding->mistake()->title.visible() + ")"
                                    : "");
        specified.push_back(text);
        const auto section = std::ranges::find(document.sections, each.step, &attn::Section::name);
        if (section != document.sections.end()) section->margin += text;
    }
    Proof proof;
    if (document.is_wrong || !diagnosis.is_right())
        proof = proof_of("", looked.file, diagnosis, {});
    for (WrongPrintedCell& each : proof.wrong) each.cell = looked.as_given(each.cell);
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const bool is_wrong = row.local == attn::Verdict::wrong && !row.harmless &&
                              (row.global == attn::Verdict::wrong || cells.empty());
        document.is_wrong = document.is_wrong || is_wrong;
        if (is_wrong && std::ranges::count(wrong_names, row.name_in_file) == 0) {
            const auto cell =
                std::ranges::find(proof.wrong, row.name_in_file, &WrongPrintedCell::place);
            specified.push_back(cell != proof.wrong.end() ? cell->text()
                                                          : attn::visible(row.name_in_file) +
                                                                " does not follow from the rest");
        }
    }
    document.is_wrong = document.is_wrong || !rows.empty();
    if (specified.empty()) {
        std::vector<std::string> right;
        for (const attn::StepVerdict& row : diagnosis.steps) {
            if (row.local == attn::Verdict::right) right.push_back(row.name_in_file);
        }
        specified.push_back(
            right.empty() ? "nothing here can be computed from the rest, so nothing was judged"
                          : attn::joined(right) + (right.size() > 1 ? " follow" : " follows") +
                                " from the rest");
    }
    for (const attn::Skipped& each : diagnosis.skipped) {
        specified.push_back(attn::visible(each.name) + " was not judged: " + each.reason);
    }
    document.verdict = attn::joined(specified, "; ");
    document.verdict_key = "verdict";
    document.verdict_json =
        attn::JsonText{{"right", !document.is_wrong}, {"verdict", document.verdict}}.text;
}

/// True for a page or a notebook, whose text is read, not its bytes.
bool is_page(const std::string& spec) {
    return spec.ends_with(".ipynb") || spec.ends_with(".html") || spec.ends_with(".htm");
}

std::vector<attn::NamedTensor> page_tensors(const std::string& spec) {
    const std::string text = document_text(spec);
    return attn::TensorFile(text, attn::file_label(spec)).read_all(report_note);
}

int run_look(const Arguments& arguments) {
    check_output_flags(arguments);
    const std::string spec = arguments.has(flags::file) ? std::string(arguments[flags::file]) : "-";
    if (spec == "-" && isatty(STDIN_FILENO) != 0) {
        report_note_now(
            "paste tensors here, as in scores = [[1, 2], [3, 1]]; Ctrl-D ends the input");
    }
    LookResult looked =
        look_at(arguments, spec, is_page(spec) ? page_tensors(spec) : pasted_tensors(spec));
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
    add_verdict(looked, document);
    std::vector<std::string> lines = looked.assumed;
    for (const attn::StepVerdict& row : diagnosis.steps) {
        if (row.name_in_file != row.name) {
            lines.push_back(attn::visible(row.name_in_file) + " is " + row.name);
        }
    }
    std::ranges::copy(diagnosis.remarks, std::back_inserter(lines));
    if (!lines.empty()) report_note("assumed: " + attn::joined(lines, "; "));
    select_sections(
        arguments, document, [](const auto&, const auto&) { return std::string(); },
        format_of(arguments).keeps_all());
    write_document(arguments, document, form_of(best), best.default_dtype());
    const Format& format = format_of(arguments, form_of(best));
    if (format.printed == nullptr && format.name != "json") report_note(document.verdict);
    return document.is_wrong ? 1 : 0;
}

std::vector<Flag> look_flags() {
    return {{flags::file, "FILE", "your tensors (default: standard input, as for -)", file()}};
}

}  // namespace

Command look_command() {
    return {"look",
            "recognise pasted tensors, show their walk, and name the wrong cell",
            {table<look_flags>, print_flags, output_flags, file_flags, json_flags, color_flags,
             config_flags, walk_flags},
            run_look,
            {{"echo 'scores = [[1, 2], [3, 1]]' | attn-explain look",
              "Shows the weights that these scores give."}}};
}

}  // namespace app
