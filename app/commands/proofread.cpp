#include "app/commands/proofread.hpp"

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/looked.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

std::string proof_text(const attn::Diagnosis& diagnosis, const std::vector<WrongInPrint>& wrong,
                       const std::string& reason) {
    std::string text;
    for (const WrongInPrint& each : wrong) {
        if (!each.line.empty()) text += attn::visible(each.line) + "\n";
        text += "  " + each.text() + "\n";
    }
    for (const attn::Finding& finding : diagnosis.findings) {
        const attn::Mistake* const mistake = finding.mistake();
        if (mistake == nullptr || finding.harmless) continue;
        text += finding.step + ": " + mistake->title.visible() + " (" + mistake->id + ")\n";
    }
    std::vector<std::string> right;
    for (const attn::StepVerdict& row : diagnosis.steps) {
        if (row.local == attn::Verdict::right) right.push_back(attn::visible(row.theirs_name));
    }
    if (!right.empty()) {
        text +=
            attn::joined(right) + (right.size() > 1 ? " follow" : " follows") + " from the rest\n";
    }
    for (const attn::Skipped& each : diagnosis.skipped) {
        text += attn::visible(each.name) + " was not judged: " + each.reason + "\n";
    }
    return text + (reason.empty() ? "" : reason + "\n");
}

std::string proof_json(const attn::Diagnosis& diagnosis, const std::vector<WrongInPrint>& wrong,
                       const std::string& reason) {
    std::vector<attn::JsonText> matrices, cells;
    for (const auto& entry : diagnosis.given.entries()) {
        if (diagnosis.read.has(entry.name)) {
            matrices.push_back({{"place", entry.name}, {"step", entry.name}});
        }
    }
    for (const attn::StepVerdict& row : diagnosis.steps) {
        matrices.push_back({{"place", row.theirs_name}, {"step", row.name}});
    }
    for (const WrongInPrint& each : wrong) {
        const std::size_t axes = each.cell.size();
        cells.push_back({{"place", each.place},
                         {"row", static_cast<std::int64_t>(axes < 2 ? 0 : each.cell[axes - 2])},
                         {"column", static_cast<std::int64_t>(axes < 1 ? 0 : each.cell[axes - 1])},
                         {"printed", each.printed},
                         {"should_be", each.should_be},
                         {"line", each.line}});
    }
    attn::JsonText json{{"matrices", {matrices, ",\n  "}}, {"wrong", {cells, ",\n  "}}};
    return (reason.empty() ? json : json.with("reason", reason)).text + "\n";
}

int run_proofread(const Arguments& arguments) {
    const std::string path = arguments[flags::file];
    const std::string text = document_text(path);
    std::vector<std::string> tokens;
    const attn::TensorFile file(text, attn::file_label(path));
    const attn::Ledger tensors = recognised(file.read_all(report_note), file.label(), tokens);
    Looked looked = look_at(arguments, file.label(), tensors, tokens);
    const attn::Diagnosis& diagnosis = looked.diagnosis;
    std::vector<WrongInPrint> wrong;
    bool is_judged = false, is_open = false;
    if (looked.reason.empty()) {
        wrong = wrong_in_print(text, tensors, diagnosis, tokens);
        for (const attn::StepVerdict& row : diagnosis.steps) {
            is_judged = is_judged || row.local == attn::Verdict::right;
            is_open = is_open || (row.local == attn::Verdict::wrong && !row.harmless);
        }
        if (!is_judged && wrong.empty())
            looked.reason = "nothing here follows from the rest, so nothing was judged";
    }
    write_text_or_json(
        arguments, [&] { return proof_text(diagnosis, wrong, looked.reason); },
        [&] { return proof_json(diagnosis, wrong, looked.reason); });
    if (!wrong.empty() || diagnosis.has_mistake()) return 1;
    return is_judged && !is_open ? 0 : no_verdict;
}

const std::vector<Flag>& proofread_flags() {
    static const std::vector<Flag> all{
        {flags::file, "FILE", "a page (.html), a notebook (.ipynb), or text: .md, .tex, .txt",
         file()}};
    return all;
}

}  // namespace

Command proofread_command() {
    return {
        "proofread",
        "find the matrices of a document and the printed numbers that do not follow from the rest",
        {proofread_flags, json_flags, file_flags, color_flags, config_flags, walk_flags},
        run_proofread,
        {{"attn-explain proofread lesson.html",
          "Names the cells that are wrong, and what they should be."}}};
}

}  // namespace app
