#include "app/commands/proofread.hpp"

#include <algorithm>
#include <iterator>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/look_result.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// A document, or one of its sections on layers, heads or examples, with what comes before them.
struct ReadPart {
    std::string name{};  ///< its heading; empty for a whole document
    std::string text{};
    attn::Diagnosis diagnosis{};
    Proof proof{};
    std::string reason{};  ///< why nothing was judged, or which row of given weights is off
    bool has_off_row = false;

    /// True for a tensor that a walk computes, or that is unknown.
    static bool is_result(const attn::Skipped& skipped) {
        const std::vector<std::string> steps = attn::known_steps(skipped.name);
        return attn::parameter_called(skipped.name).empty() &&
               (steps.empty() || attn::find_step(attn::kept_table(), steps.front()).kind ==
                                     attn::Step::Kind::computed);
    }
    /// True if the numbers follow a known mistake: those of wrong cells, or of a wrong form.
    bool follows(const attn::Finding& finding) const {
        const attn::KeptStep* const form = attn::kept_step(finding.step);
        return finding.mistake() != nullptr && !finding.harmless &&
               (proof.has_wrong(finding.step) || (form != nullptr && form->is_mistake));
    }
    int exit_code() const {
        const bool follows_mistake = std::ranges::any_of(
            diagnosis.findings, [&](const auto& finding) { return follows(finding); });
        if (!proof.wrong.empty() || follows_mistake || has_off_row) return 1;
        const bool is_partial =
            !proof.unjudged.empty() || std::ranges::any_of(diagnosis.skipped, is_result);
        return proof.right.empty() || is_partial ? no_verdict : 0;
    }
};

std::string proof_text(const ReadPart& part) {
    std::string text = part.name.empty() ? "" : attn::visible(part.name) + "\n";
    std::string line;
    for (const WrongPrintedCell& each : part.proof.wrong) {
        if (!each.line.empty() && each.line != line) text += attn::visible(each.line) + "\n";
        line = each.line;
        text += "  " + each.text() + "\n";
    }
    for (const attn::Finding& finding : part.diagnosis.findings) {
        if (!part.follows(finding)) continue;
        text += finding.step + ": " + finding.mistake()->title.visible() + " (" +
                finding.mistake()->id + ")\n";
    }
    const std::vector<std::string> right =
        collected(part.proof.right, [](const auto& name) { return attn::visible(name); });
    if (!right.empty()) {
        text +=
            attn::joined(right) + (right.size() > 1 ? " follow" : " follows") + " from the rest\n";
    }
    for (const attn::Skipped& each : part.diagnosis.skipped) {
        text += attn::visible(each.name) + " was not judged: " + each.reason + "\n";
    }
    for (const std::string& name : part.proof.unjudged) {
        text += attn::visible(name) + " was not judged: its cells cannot be computed one by one\n";
    }
    return text + (part.reason.empty() ? "" : part.reason + "\n");
}

attn::JsonText proof_json(const std::vector<ReadPart>& parts) {
    std::vector<attn::JsonText> matrices, cells, skipped;
    std::string reason;
    for (const ReadPart& part : parts) {
        const auto add = [&](std::vector<attn::JsonText>& list, attn::JsonText entry) {
            list.push_back(part.name.empty() ? std::move(entry) : entry.with("section", part.name));
        };
        for (const auto& entry : part.diagnosis.given.entries()) {
            if (part.diagnosis.read.has(entry.name)) {
                add(matrices, {{"matrix", entry.name}, {"step", entry.name}});
            }
        }
        for (const attn::StepVerdict& row : part.diagnosis.steps) {
            add(matrices, {{"matrix", row.name_in_file}, {"step", row.name}});
        }
        for (const WrongPrintedCell& each : part.proof.wrong) {
            const std::size_t axes = each.cell.size();
            add(cells, {{"matrix", each.place},
                        {"row", static_cast<std::int64_t>(axes < 2 ? 0 : each.cell[axes - 2])},
                        {"column", static_cast<std::int64_t>(axes < 1 ? 0 : each.cell[axes - 1])},
                        {"printed", each.printed},
                        {"expected", each.should_be},
                        {"line", each.line}});
        }
        for (const attn::Skipped& each : part.diagnosis.skipped) {
            add(skipped, {{"matrix", each.name}, {"reason", each.reason}});
        }
        for (const std::string& name : part.proof.unjudged) {
            add(skipped, {{"matrix", name}, {"reason", "its cells cannot be computed one by one"}});
        }
        if (reason.empty()) reason = part.reason;
    }
    attn::JsonText json{{"matrices", {matrices, ",\n  "}},
                        {"wrong", {cells, ",\n  "}},
                        {"not_judged", {skipped, ",\n  "}}};
    return reason.empty() ? json : json.with("reason", reason);
}

/// Returns the step or parameter that a name means; empty for an unknown name.
std::string meaning_of(const std::string& name) {
    const std::string parameter = attn::parameter_called(name);
    return parameter.empty() ? attn::likeliest_step(name) : parameter;
}

/// Removes the second name of one matrix, as in `S = QK^T = M`, unless it means another step, as in
/// `W_q = W_k = M`.
void keep_one_name_each(std::vector<attn::NamedTensor>& tensors) {
    for (std::size_t i = 1; i < tensors.size();) {
        attn::NamedTensor &first = tensors[i - 1], &second = tensors[i];
        const std::string a = meaning_of(first.name), b = meaning_of(second.name);
        const bool are_one = a.empty() || b.empty() || a == b;
        if (&first.tensor.values() != &second.tensor.values() || !are_one) {
            ++i;
            continue;
        }
        if (a.empty() && !b.empty()) first.name = second.name;
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// Removes the second of two equal tensors of one name. If their numbers differ, another walk
/// begins there: removes what comes between, from the first of them on, and returns it.
std::vector<attn::Skipped> keep_last_walk(std::vector<attn::NamedTensor>& tensors) {
    std::vector<attn::Skipped> left_out;
    for (std::size_t i = 0; i < tensors.size();) {
        const attn::NamedTensor& first = tensors[i];
        const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(i);
        const auto again = std::find_if(begin + 1, tensors.end(), [&](const auto& other) {
            return other.name == first.name && other.tensor.shape() == first.tensor.shape() &&
                   given_as(other.name, other.tensor) == given_as(first.name, first.tensor);
        });
        if (again == tensors.end()) {
            ++i;
        } else if (attn::same_cells(first.tensor, again->tensor)) {
            tensors.erase(again);
        } else {
            const std::string reason =
                "the document has two matrices " + attn::visible(first.name) +
                " with different numbers, and the walk of the last one is judged";
            for (auto each = begin; each != again; ++each) left_out.push_back({each->name, reason});
            tensors.erase(begin, again);
        }
    }
    return left_out;
}

std::vector<attn::NamedTensor> tensors_in(const ReadPart& part, const std::string& label,
                                          std::vector<attn::Skipped>& skipped) {
    std::vector<std::string> shortened;
    std::vector<attn::NamedTensor> tensors = attn::document_matrices(part.text, label, shortened);
    for (const std::string& name : shortened)
        skipped.push_back({name, "it was shortened when it was printed: print it whole"});
    keep_one_name_each(tensors);
    return tensors;
}

/// Reads a part as one walk and judges it.
void judge_part(const Arguments& arguments, const std::string& label, ReadPart& part) {
    std::vector<attn::Skipped> skipped;
    const std::vector<attn::NamedTensor> named = tensors_in(part, label, skipped);
    if (named.empty()) {
        part.reason = "no matrix was found";
        part.diagnosis.skipped = std::move(skipped);
        return;
    }
    LookResult looked = look_at(arguments, label, named, keep_last_walk);
    part.reason = std::move(looked.reason);
    if (part.reason.empty()) {
        part.reason = looked.off_row();
        part.has_off_row = !part.reason.empty();
        // With the same decimal points as the matrices.
        part.proof = proof_of(attn::with_points_and_rows(part.text), looked.file, looked.diagnosis,
                              looked.tokens);
        for (WrongPrintedCell& each : part.proof.wrong) each.cell = looked.as_given(each.cell);
        if (part.proof.right.empty() && part.proof.wrong.empty() && !part.has_off_row)
            part.reason = "nothing here follows from the rest, so nothing was judged";
    }
    part.diagnosis = std::move(looked.diagnosis);
    std::ranges::move(skipped, std::back_inserter(part.diagnosis.skipped));
}

/// Returns the sections of a document if each has its own numbers under the same names; else the
/// document.
std::vector<ReadPart> document_parts(const std::string& text, const std::string& label) {
    std::vector<ReadPart> parts;
    for (auto& [name, section] : numbered_sections(text)) parts.push_back({name, section});
    std::vector<attn::Skipped> ignored;
    if (parts.size() > 1) {
        std::vector<attn::NamedTensor> all = tensors_in({"", text}, label, ignored);
        if (!keep_last_walk(all).empty()) return parts;
    }
    return {{"", text}};
}

int run_proofread(const Arguments& arguments) {
    const std::string path = arguments[flags::file], label = attn::file_label(path);
    std::vector<ReadPart> parts = document_parts(document_text(path), label);
    int code = 0;
    for (ReadPart& part : parts) {
        judge_part(arguments, label, part);
        const int own = part.exit_code();
        code = code == 1 || own == 1 ? 1 : std::max(code, own);
    }
    write_text_or_json(arguments, attn::joined(collected(parts, proof_text), "\n"),
                       proof_json(parts));
    return code;
}

std::vector<Flag> proofread_flags() {
    return {{flags::file, "FILE", "a page (.html), a notebook (.ipynb), or text: .md, .tex, .txt",
             file()}};
}

}  // namespace

Command proofread_command() {
    return {
        "proofread",
        "find the matrices of a document and the printed numbers that do not follow from the rest",
        {table<proofread_flags>, json_flags, file_flags, color_flags, config_flags, walk_flags},
        run_proofread,
        {{"attn-explain proofread lesson.html",
          "Names the cells that are wrong, and what they should be."}}};
}

}  // namespace app
