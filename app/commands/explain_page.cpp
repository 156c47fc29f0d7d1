#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "app/commands/explained.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/show/render/render.hpp"

namespace app {
namespace {

using attn::ExplainedAttention;
using attn::ExplainedLine;
using attn::LineVerdict;

/// True if the numbers of a line are wrong, or differ without a known mistake.
bool is_mismatch(const ExplainedLine& line) {
    return is_wrong(line.verdict) || line.verdict == LineVerdict::open;
}

/// The mistakes of an attention, which together explain its numbers.
std::vector<const attn::Mistake*> mistakes_found_in(const attn::Diagnosis& diagnosis) {
    std::vector<const attn::Mistake*> cause;
    for (const attn::Finding& finding : diagnosis.findings) {
        if (finding.mistake() != nullptr)
            std::ranges::copy(finding.applied(), std::back_inserter(cause));
    }
    return cause;
}

/// The program's own tensors; steps that it does not have follow from those before them.
attn::Ledger own_walk(const attn::Diagnosis& diagnosis,
                      const std::vector<const attn::Mistake*>& cause,
                      const attn::StepTable& table) {
    const attn::Plan& plan = *diagnosis.plan;
    attn::Replay replay(plan, diagnosis.given);
    for (const attn::Mistake* mistake : cause) replay.make(*mistake);
    attn::Ledger own(attn::chains_of(table));
    for (const attn::Step& step : table) {
        if (!step.applies(plan)) continue;
        const attn::Tensor* const read = diagnosis.read.find(step.name);
        const attn::Tensor* const computed = replay.step(step.name);
        if (computed == nullptr) continue;
        const bool is_given = read != nullptr && read->shape() == computed->shape();
        own.record(step.name, is_given ? *read : *computed);
        if (is_given) replay.take(step.name, *read);
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
    const auto notes = collected(paragraphs(diagnosis, line), [](const auto& paragraph) {
        const auto& [head, body] = paragraph;
        return attn::JsonText(std::vector<std::string>{head, attn::visible_lines(body, false)});
    });
    return {{"name", attn::visible(attn::cut_to(line.name, 60))},
            {"part", is_part},
            {"steps", line.steps},
            {"shape", attn::shape_text(line.shape)},
            {"verdict", attn::word(line.verdict)},
            {"wrong", is_wrong(line.verdict)},
            {"notes", {notes, ", "}}};
}

/// The text next to the walk: a heading with the verdict, paragraphs, and lines.
struct Listing {
    std::string title;
    std::vector<std::string> opening{};
    std::vector<attn::JsonText> lines{};

    std::string json() const {
        return attn::JsonText{
            {"title", attn::visible(title)}, {"opening", opening}, {"lines", {lines, ", "}}}
            .text;
    }
};

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

/// Lists the lines of the program, then those of other files.
Listing listing(const Explained& explained, const ExplainedAttention& attention,
                const std::vector<ExplainedLine>& judged) {
    const auto steps_at = [&](const std::string& file, std::size_t number) {
        std::vector<attn::JsonText> steps;
        for (const ExplainedLine& each : judged) {
            if (each.file != file || each.line != number) continue;
            steps.push_back(step_row(attention.diagnosis, each, explained.is_part(each)));
        }
        return steps;
    };
    Listing all{file_name(explained.path) + ": " + summary(explained)};
    for (std::size_t number = 1; number <= explained.program.source.size(); ++number) {
        all.lines.push_back(
            row(explained.place("", number), explained.program.line(number), steps_at("", number)));
    }
    std::vector<std::string> shown;
    for (const ExplainedLine& each : judged) {
        const std::string place = explained.place(each.file, each.line);
        if (each.file.empty() || std::ranges::count(shown, place) > 0) continue;
        shown.push_back(place);
        all.lines.push_back(row(place, "", steps_at(each.file, each.line)));
    }
    const auto& found = explained.found.attentions;
    if (found.size() > 1) {
        all.opening.push_back(fmt::format("This page shows attention {} of {}.",
                                          &attention - found.data() + 1, found.size()));
    }
    if (const std::string settings = assumed(attention); !settings.empty()) {
        all.opening.push_back(settings);
    }
    for (const attn::LineQuestion& each : attention.questions) {
        all.opening.push_back(explained.question_text(each));
    }
    return all;
}

/// The user's tensors and the right ones.
struct BothWalks {
    const attn::Diagnosis& diagnosis;
    const attn::Plan& plan = *diagnosis.plan;
    const attn::StepTable& right = attn::step_table(plan);
    attn::StepTable own = right;
    attn::Ledger actual{}, correct{};
    std::map<std::string, attn::Tolerance> tolerances{};  ///< by step

    BothWalks(const attn::Diagnosis& judged, const attn::DiagnoseOptions& options)
        : diagnosis(judged) {
        const std::vector<const attn::Mistake*> cause = mistakes_found_in(diagnosis);
        for (const attn::Mistake* mistake : cause) own = mistake->apply(std::move(own), plan);
        actual = own_walk(diagnosis, cause, own);
        correct = attn::walk(plan, diagnosis.given, right);
        set_tolerances(options);
    }

    /// Returns the cell of a step that is farthest from the right one, beyond its tolerance. A cell
    /// that the mask hides shows little, and comes last.
    std::optional<std::size_t> worst_mismatch(const std::string& step) const {
        const attn::Tensor* const mine = actual.find(step);
        const attn::Tensor* const should_be = correct.find(step);
        if (mine == nullptr || should_be == nullptr || mine->shape() != should_be->shape()) {
            return std::nullopt;
        }
        const auto tolerance = tolerances.find(step);
        const auto& [absolute, relative] =
            tolerance == tolerances.end() ? attn::Tolerance() : tolerance->second;
        const attn::Tensor* const weights = correct.find("weights");
        const bool is_of_pairs = weights != nullptr && weights->shape() == mine->shape();
        std::optional<std::size_t> found;
        double worst = 0;
        for (std::size_t i = 0; i < mine->size(); ++i) {
            const double x = mine->at(i), y = should_be->at(i);
            const double most = absolute + relative * std::min(std::abs(x), std::abs(y));
            if (attn::same_number(x, y) || std::abs(x - y) <= most) continue;
            const double off = is_of_pairs && weights->at(i) == 0 ? 0
                               : std::isfinite(x - y)             ? std::abs(x - y)
                                                                  : HUGE_VAL;
            if (found && off <= worst) continue;
            found = i;
            worst = off;
        }
        return found;
    }

private:
    /// No cell of a step that was judged right is marked; other steps have the tolerance of the
    /// judge.
    void set_tolerances(const attn::DiagnoseOptions& options) {
        attn::Judge judge(plan, diagnosis.given, options);
        double epsilon = 0;
        for (const attn::StepVerdict& step : diagnosis.steps) {
            epsilon = std::max(epsilon, step.epsilon);
        }
        judge.loosen(epsilon);
        for (const auto& [name, tensor] : actual.entries()) {
            const auto verdict = std::ranges::find(diagnosis.steps, name, &attn::StepVerdict::name);
            const bool was_judged = verdict != diagnosis.steps.end();
            attn::Tolerance& tolerance = tolerances[name];
            if (was_judged && verdict->global == attn::Verdict::right) {
                tolerance.absolute = HUGE_VAL;
            } else if (const attn::Tensor* const expected = correct.find(name)) {
                tolerance = judge.tolerance(name, {name, tensor, {name}}, *expected, false);
                // A small difference may be systematic.
                if (was_judged && !worst_mismatch(name)) tolerance = {};
            }
        }
    }
};

/// Returns the step whose numbers a line makes wrong: the first of its walk, from the line's own
/// on, that differs from the right one. For a missing scale that is `scaled_scores`, even if the
/// line computes a product and the finding is about `masked_scores`.
std::string wrong_step(const BothWalks& both, const ExplainedLine& line) {
    const auto& entries = both.actual.entries();
    const std::string& judged = line.finding != nullptr ? line.finding->step : line.steps.front();
    const auto begin = std::ranges::find(entries, line.steps.front(), &attn::Ledger::Entry::name);
    for (auto entry = begin; entry != entries.end(); ++entry) {
        if (both.worst_mismatch(entry->name)) return entry->name;
        if (entry->name == judged) break;
    }
    return judged;
}

/// Explains next to each wrong step what is wrong, and opens the page at the first one: at a known
/// mistake if there is one.
void show_mistakes(const BothWalks& both, std::vector<ExplainedLine>& lines,
                   attn::Document& document) {
    const ExplainedLine* opened = nullptr;
    attn::Section* opens = nullptr;
    for (ExplainedLine& line : lines) {
        if (!is_mismatch(line)) continue;
        const std::string step = wrong_step(both, line);
        const auto section = std::ranges::find(document.sections, step, &attn::Section::name);
        if (section == document.sections.end()) continue;
        const bool is_free = std::ranges::none_of(lines, [&](const ExplainedLine& each) {
            return std::ranges::count(each.steps, step) > 0;
        });
        if (is_free) line.steps.push_back(step);
        section->margin = {};
        for (const auto& [head, body] : paragraphs(both.diagnosis, line)) {
            if (!section->margin.empty()) section->margin += "\n";
            section->margin += attn::visible_lines(head.empty() ? body : head + ": " + body, false);
        }
        if (opened == nullptr || (is_wrong(line.verdict) && !is_wrong(opened->verdict))) {
            opened = &line;
            opens = &*section;
        }
    }
    if (opens == nullptr) return;
    const auto* const tensor = std::get_if<attn::Tensor>(&opens->content);
    if (tensor == nullptr || tensor->size() == 0) return;
    opens->opened_at =
        attn::indices_of(both.worst_mismatch(opens->name).value_or(0), tensor->shape());
}

/// The words of a page of judged tensors.
struct JudgedPage {
    std::string name;  ///< whose tensors they are
    std::string command;
    std::vector<std::pair<std::string, std::string>> config;
};

/// Returns the page of the user's tensors, and, if one is wrong, of the right ones.
template <class List>
std::string page_of_tensors(const BothWalks& both, std::vector<ExplainedLine> lines,
                            const JudgedPage& page, List list) {
    const attn::Plan& plan = both.plan;
    attn::Document document = walked(plan, both.actual, both.own, page.name);
    document.command = page.command;
    document.config = {page.config.begin(), page.config.end()};
    const bool has_other = std::ranges::any_of(lines, is_mismatch);
    if (has_other) {
        show_mistakes(both, lines, document);
        attn::Document other = walked(plan, both.correct, both.right, "right");
        for (attn::Document* const each : {&document, &other}) {
            for (attn::Section& section : each->sections) {
                const auto tolerance = both.tolerances.find(section.name);
                if (tolerance != both.tolerances.end()) section.tolerance = tolerance->second;
            }
        }
        document.other = std::make_shared<const attn::Document>(std::move(other));
    }
    document.listing = list(lines).json();
    // Numbers side by side are compared: without exponents.
    attn::FigureChoices choices;
    choices.options.sci_mode = attn::SciMode::off;
    std::string text;
    attn::render_html(document, choices, [&text](std::string_view piece) { text += piece; });
    return text;
}

/// Returns the verdict of a tensor as that of a line of a program.
ExplainedLine line_of(const attn::StepVerdict& step, const attn::Diagnosis& diagnosis) {
    using attn::Verdict;
    ExplainedLine line;
    line.name = step.name_in_file.empty() ? step.name : step.name_in_file;
    line.steps = {step.name};
    line.shape = step.actual;
    const auto finding = std::ranges::find(diagnosis.findings, step.name, &attn::Finding::step);
    // If two tensors are one step, the finding is about the one that deviates.
    if (finding != diagnosis.findings.end() &&
        (finding->harmless || step.local != Verdict::right)) {
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

/// Summarizes the verdicts on tensors, as `summary` does for a program.
std::string summary_of(const std::vector<ExplainedLine>& lines, const attn::Diagnosis& diagnosis) {
    std::vector<std::string> wrong, differ;
    for (const ExplainedLine& line : lines) {
        if (is_wrong(line.verdict)) wrong.push_back(line.name);
        if (line.verdict == LineVerdict::open) differ.push_back(line.name);
    }
    const std::string text = attn::counted(lines.size(), "step") + " of attention, ";
    if (!wrong.empty()) {
        return text + fmt::format("{} wrong: {}", wrong.size(), attn::joined(wrong));
    }
    if (!differ.empty()) {
        return text + fmt::format("{} differ{} without a known mistake: {}", differ.size(),
                                  differ.size() == 1 ? "s" : "", attn::joined(differ));
    }
    return text + (diagnosis.is_right() ? "all right" : "no mistake found, but questions are open");
}

}  // namespace

std::string page_of(const Explained& explained, const std::string& command) {
    const auto& all = explained.found.attentions;
    const auto was_judged = [](const ExplainedAttention& each) {
        return each.diagnosis.plan.has_value();
    };
    const auto first_with = [&](const auto& is_meant) {
        return std::ranges::find_if(all, [&](const ExplainedAttention& each) {
            return was_judged(each) && std::ranges::any_of(each.lines, is_meant);
        });
    };
    auto chosen = first_with([](const ExplainedLine& line) { return is_wrong(line.verdict); });
    if (chosen == all.end()) chosen = first_with(is_mismatch);
    if (chosen == all.end()) chosen = std::ranges::find_if(all, was_judged);
    if (chosen == all.end()) {
        throw attn::InputError(attn::file_label(explained.path) + ": " +
                               (explained.program.raised ? raised_text(explained.program) : "") +
                               summary(explained) + ", so there is no page");
    }
    return page_of_tensors(BothWalks(chosen->diagnosis, {}), chosen->lines,
                           {"your program",
                            command,
                            {{"file", attn::json_string(explained.path)},
                             {"settings", attn::json_string(chosen->settings)}}},
                           [&](const std::vector<ExplainedLine>& lines) {
                               return listing(explained, *chosen, lines);
                           });
}

std::string page_of(const attn::Diagnosis& diagnosis, const attn::DiagnoseOptions& options,
                    const std::string& remarks, const std::string& file,
                    const std::string& command) {
    if (!diagnosis.plan || diagnosis.steps.empty()) {
        throw attn::InputError(attn::file_label(file) +
                               ": nothing was judged, so there is no page" +
                               (remarks.empty() ? "" : " (" + remarks + ")"));
    }
    return page_of_tensors(
        BothWalks(diagnosis, options),
        collected(diagnosis.steps, [&](const auto& step) { return line_of(step, diagnosis); }),
        {"your tensors", command, {{"file", attn::json_string(file)}}},
        [&](const std::vector<ExplainedLine>& lines) {
            Listing all{file_name(file) + ": " + summary_of(lines, diagnosis)};
            for (const std::string& remark : attn::lines_of(remarks)) {
                if (!remark.empty()) all.opening.push_back(attn::visible(remark));
            }
            for (const std::string& each : diagnosis.open) all.opening.push_back(each);
            for (const attn::Skipped& each : diagnosis.skipped) {
                all.opening.push_back("not compared: " + each.name + ": " + each.reason);
            }
            for (const ExplainedLine& line : lines) {
                all.lines.push_back(row(std::to_string(all.lines.size() + 1), line.name,
                                        {step_row(diagnosis, line, false)}));
            }
            return all;
        });
}

}  // namespace app
