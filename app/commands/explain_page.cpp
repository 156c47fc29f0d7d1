#include <algorithm>
#include <memory>

#include "app/commands/explained.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/show/render/render.hpp"

namespace app {
namespace {

using attn::ExplainedAttention;
using attn::ExplainedLine;

/// The mistakes of an attention, which together explain its numbers.
std::vector<const attn::Mistake*> made_in(const attn::Diagnosis& diagnosis) {
    std::vector<const attn::Mistake*> made;
    for (const attn::Finding& finding : diagnosis.findings) {
        if (finding.mistake() != nullptr)
            std::ranges::copy(finding.made(), std::back_inserter(made));
    }
    return made;
}

/// The program's own tensors; steps that it does not have follow from those before them.
attn::Ledger own_walk(const attn::Diagnosis& diagnosis,
                      const std::vector<const attn::Mistake*>& made, const attn::StepTable& table) {
    const attn::Plan& plan = *diagnosis.plan;
    attn::Replay replay(plan, diagnosis.given);
    for (const attn::Mistake* mistake : made) replay.make(*mistake);
    attn::Ledger own(attn::chains_of(table));
    for (const attn::Step& step : table) {
        if (!step.applies(plan)) continue;
        const attn::Tensor* const read = diagnosis.read.find(step.name);
        const attn::Tensor* const computed = replay.step(step.name);
        if (computed == nullptr) continue;
        if (read != nullptr && read->shape() == computed->shape()) {
            attn::Tensor theirs = *read;
            own.record(step.name, theirs);
            replay.take(step.name, std::move(theirs));
        } else {
            own.record(step.name, *computed);
        }
    }
    return own;
}

attn::Document walked(const attn::Plan& plan, const attn::Ledger& ledger,
                      const attn::StepTable& table, const std::string& name) {
    attn::Document document = attn::document_of(plan, ledger, table);
    attn::add_derivations(document, plan, table, ledger);
    document.name = name;
    return document;
}

/// One line of the program with its steps.
attn::JsonText row(const std::string& place, const std::string& text,
                   const std::vector<attn::JsonText>& steps) {
    return {{"place", place}, {"text", attn::visible(text)}, {"steps", {steps, ", "}}};
}

attn::JsonText step_row(const attn::Diagnosis& diagnosis, const ExplainedLine& line, bool is_part) {
    std::vector<attn::JsonText> notes;
    for (const auto& [head, body] : paragraphs(diagnosis, line)) {
        notes.emplace_back(std::vector<std::string>{head, attn::visible_lines(body, false)});
    }
    return {{"name", attn::visible(attn::cut_to(line.name, 60))},
            {"part", is_part},
            {"steps", line.steps},
            {"shape", attn::shape_text(line.shape)},
            {"verdict", word(line.verdict)},
            {"wrong", is_wrong(line.verdict)},
            {"notes", {notes, ", "}}};
}

/// The lines of the program, then those of other files.
std::string listing(const Explained& explained, const ExplainedAttention& attention) {
    const auto steps_at = [&](const std::string& file, std::size_t number) {
        std::vector<attn::JsonText> steps;
        for (const ExplainedLine& each : attention.lines) {
            if (each.file != file || each.line != number) continue;
            steps.push_back(step_row(attention.diagnosis, each, explained.is_part(each)));
        }
        return steps;
    };
    std::vector<attn::JsonText> lines;
    for (std::size_t number = 1; number <= explained.program.source.size(); ++number) {
        lines.push_back(
            row(explained.place("", number), explained.program.line(number), steps_at("", number)));
    }
    std::vector<std::string> shown;
    for (const ExplainedLine& each : attention.lines) {
        const std::string place = explained.place(each.file, each.line);
        if (each.file.empty() || std::ranges::count(shown, place) > 0) continue;
        shown.push_back(place);
        lines.push_back(row(place, "", steps_at(each.file, each.line)));
    }
    std::vector<std::string> opening{summary(explained)};
    if (explained.found.attentions.size() > 1) {
        const auto number = &attention - explained.found.attentions.data() + 1;
        opening.push_back("this page shows attention " + std::to_string(number) + " of " +
                          std::to_string(explained.found.attentions.size()));
    }
    if (const std::string settings = assumed(attention); !settings.empty()) {
        opening.push_back(settings);
    }
    for (const attn::LineQuestion& each : attention.questions)
        opening.push_back(explained.asked(each));
    return attn::JsonText{{"opening", attn::joined(opening, ". ") + "."}, {"lines", lines}}.text;
}

/// Describes next to each wrong step what is wrong.
void add_margins(const attn::Diagnosis& diagnosis, const std::vector<ExplainedLine>& lines,
                 attn::Document& document) {
    for (const ExplainedLine& line : lines) {
        if (!is_wrong(line.verdict) || line.finding == nullptr) continue;
        const auto section =
            std::ranges::find(document.sections, line.finding->step, &attn::Section::name);
        if (section == document.sections.end()) continue;
        section->margin = {};
        for (const auto& [head, body] : paragraphs(diagnosis, line)) {
            if (!section->margin.empty()) section->margin += "\n";
            section->margin += attn::visible_lines(head.empty() ? body : head + ": " + body, false);
        }
    }
}

/// Opens a page at the first wrong cell of the first wrong step.
void open_at_mistake(const attn::Ledger& theirs, const attn::Ledger& ours,
                     attn::Document& document) {
    for (attn::Section& section : document.sections) {
        const attn::Tensor* const own = theirs.find(section.name);
        const attn::Tensor* const right = ours.find(section.name);
        if (section.margin.empty() || right == nullptr || own->shape() != right->shape()) continue;
        for (std::size_t i = 0; i < own->size(); ++i) {
            if (attn::same_number(own->at(i), right->at(i))) continue;
            section.opened_at = attn::indices_of(i, own->shape());
            return;
        }
    }
}

/// The content of a page of judged tensors besides the tensors.
struct Judged {
    std::string name;  ///< whose tensors they are
    std::string listing;
    std::string command;
    std::vector<std::pair<std::string, std::string>> config;
    std::vector<ExplainedLine> lines;
};

/// Returns the page of the user's tensors, and, if one is wrong, of the right ones.
std::string page_of_tensors(const attn::Diagnosis& diagnosis, const Judged& judged) {
    const attn::Plan& plan = *diagnosis.plan;
    const attn::StepTable& right = attn::step_table(plan);
    attn::StepTable own = right;
    const std::vector<const attn::Mistake*> made = made_in(diagnosis);
    for (const attn::Mistake* mistake : made) own = mistake->apply(std::move(own), plan);
    const attn::Ledger theirs = own_walk(diagnosis, made, own);
    attn::Document document = walked(plan, theirs, own, judged.name);
    add_margins(diagnosis, judged.lines, document);
    document.listing = judged.listing;
    document.command = judged.command;
    document.config = {judged.config.begin(), judged.config.end()};
    const bool has_mistake = std::ranges::any_of(
        judged.lines, [](const ExplainedLine& line) { return is_wrong(line.verdict); });
    if (has_mistake) {
        const attn::Ledger ours = attn::walk(plan, diagnosis.given, right);
        open_at_mistake(theirs, ours, document);
        document.other = std::make_shared<const attn::Document>(walked(plan, ours, right, "right"));
    }
    // Numbers side by side are compared: without exponents.
    attn::FigureChoices choices;
    choices.options.sci_mode = attn::SciMode::off;
    std::string text;
    attn::render_html(document, choices, [&text](std::string_view piece) { text += piece; });
    return text;
}

/// Returns the verdict of a tensor as that of a line of a program.
ExplainedLine line_of(const attn::StepVerdict& step, const attn::Diagnosis& diagnosis) {
    using attn::LineVerdict, attn::Verdict;
    ExplainedLine line;
    line.name = step.theirs_name.empty() ? step.name : step.theirs_name;
    line.steps = {step.name};
    line.shape = step.theirs;
    const auto finding = std::ranges::find(diagnosis.findings, step.name, &attn::Finding::step);
    if (finding != diagnosis.findings.end()) {
        line.finding = &*finding;
        line.verdict = finding->harmless               ? LineVerdict::harmless
                       : finding->mistake() != nullptr ? LineVerdict::wrong
                       : finding->follows.empty()      ? LineVerdict::open
                                                       : LineVerdict::unknown;
    } else if (step.local != Verdict::right) {
        line.verdict = LineVerdict::not_judged;
    } else if (step.global != Verdict::right) {
        line.verdict = LineVerdict::follows;
    }
    return line;
}

}  // namespace

std::string page_of(const Explained& explained, const std::string& command) {
    const auto& all = explained.found.attentions;
    const auto was_judged = [](const ExplainedAttention& each) {
        return each.diagnosis.plan.has_value();
    };
    const auto has_mistake = [&](const ExplainedAttention& each) {
        return was_judged(each) && std::ranges::any_of(each.lines, [](const ExplainedLine& line) {
                   return is_wrong(line.verdict);
               });
    };
    auto chosen = std::ranges::find_if(all, has_mistake);
    if (chosen == all.end()) chosen = std::ranges::find_if(all, was_judged);
    if (chosen == all.end()) {
        throw attn::InputError(attn::file_label(explained.path) + ": " +
                               (explained.program.raised ? raised_text(explained.program) : "") +
                               summary(explained) + ", so there is no page");
    }
    return page_of_tensors(chosen->diagnosis, {"your program",
                                               listing(explained, *chosen),
                                               command,
                                               {{"file", attn::json_string(explained.path)},
                                                {"settings", attn::json_string(chosen->settings)}},
                                               chosen->lines});
}

std::string page_of(const attn::Diagnosis& diagnosis, const std::string& remarks,
                    const std::string& file, const std::string& command) {
    if (!diagnosis.plan || diagnosis.steps.empty()) {
        throw attn::InputError(attn::file_label(file) +
                               ": nothing was judged, so there is no page" +
                               (remarks.empty() ? "" : " (" + remarks + ")"));
    }
    Judged judged{"your tensors", "", command, {{"file", attn::json_string(file)}}, {}};
    std::vector<attn::JsonText> rows;
    for (const attn::StepVerdict& step : diagnosis.steps) {
        judged.lines.push_back(line_of(step, diagnosis));
        const ExplainedLine& line = judged.lines.back();
        rows.push_back(
            row(std::to_string(rows.size() + 1), line.name, {step_row(diagnosis, line, false)}));
    }
    const std::string opening = remarks.empty() ? "Your tensors, each judged as a step." : remarks;
    judged.listing =
        attn::JsonText{{"opening", attn::visible_lines(opening, false)}, {"lines", rows}}.text;
    return page_of_tensors(diagnosis, judged);
}

}  // namespace app
