#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "app/commands/walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/states.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/judge/compare/forms.hpp"

namespace app {
namespace {

/// Returns the number of fully masked rows. For blockwise attention they are found in the context:
/// such a row is all nan or all zero.
std::size_t empty_rows(const attn::Ledger& ledger) {
    std::size_t empty = 0;
    if (const attn::Tensor* largest = ledger.find("row_max")) {
        for (std::size_t i = 0; i < largest->size(); ++i) {
            if (largest->at(i) == -std::numeric_limits<double>::infinity()) ++empty;
        }
        return empty;
    }
    const attn::Tensor& context = ledger["context"];
    const std::size_t width = context.shape().back();
    for (std::size_t start = 0; start < context.size(); start += width) {
        bool all = true;
        for (std::size_t i = start; all && i < start + width; ++i) {
            all = std::isnan(context.at(i)) || context.at(i) == 0;
        }
        if (all) ++empty;
    }
    return empty;
}

/// Adds a sentence to the note on a section, and to those on its matrices.
void add_note(attn::Section& section, const std::string& sentence) {
    attn::notes::append_sentence(section.note, sentence);
    for (attn::Prose& note : section.notes) {
        if (!note.empty()) attn::notes::append_sentence(note, sentence);
    }
}

/// True if a tensor is a state: each token changes the one before, whose size does not grow.
bool is_memory(const attn::Section& section) {
    const auto* const tensor = std::get_if<attn::Tensor>(&section.content);
    if (tensor == nullptr || section.completed == nullptr || tensor->has_axis("key")) return false;
    const std::optional<std::size_t> along = attn::state_axis(*section.completed);
    return along && tensor->axes()[*along] == "token";
}

}  // namespace

void note_empty_rows(const attn::Plan& plan, const attn::Ledger& ledger) {
    const bool has_softmax = plan.config.attentions.empty() || ledger.has("row_max");
    if (!plan.masks() || !has_softmax) return;
    const std::size_t empty = empty_rows(ledger);
    if (empty == 0) return;
    const bool zero = plan.config.empty_row == attn::EmptyRow::zero;
    report_note(
        std::to_string(empty) + (empty == 1 ? " row hides" : " rows hide") + " every key; " +
        (empty == 1 ? "its" : "their") + " weights are " +
        (zero ? "zero" : "nan, as in PyTorch (--empty-row zero or error for another choice)"));
}

void mark_changes(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& ledger,
                  attn::Document& document) {
    const attn::Plan own = attn::resolve(*plan.config.models_own);
    const attn::Ledger models = attn::walk(own, attn::draw(own), *table_of(arguments, own));
    for (attn::Section& section : document.sections) {
        const attn::Tensor* const before = models.find(section.name);
        const attn::Tensor* const now = ledger.find(section.name);
        if (now == nullptr || (before != nullptr && attn::same_numbers(*before, *now))) continue;
        mark_changed(section, "Differs from the model: " + plan.config.changes + ".");
    }
    document.config.emplace_back("changed", attn::json_string(plan.config.changes));
}

void add_verdict(const attn::Ledger& ledger, attn::Document& document) {
    const std::optional<attn::GradientCheck> check = attn::gradient_check(ledger);
    if (!check) return;
    std::vector<attn::JsonText> off;
    for (const attn::GradientCheck::Off& each : check->off) {
        const std::vector<std::int64_t> cell(each.cell.begin(), each.cell.end());
        off.push_back({{"name", each.name}, {"cell", cell}, {"error", each.error}});
        for (attn::Section& section : document.sections) {
            if (section.name != each.name && section.name != each.name + "_error") continue;
            section.margin += (section.margin.empty() ? "" : "\n") + attn::index_text(each.cell) +
                              " is off by " + attn::brief(each.error);
        }
    }
    const auto kinks = static_cast<std::int64_t>(check->kinks);
    document.verdict = check->text();
    document.is_wrong = !check->off.empty();
    document.verdict_json = attn::JsonText{
        {"right", check->off.empty()},
        {"verdict", document.verdict},
        {"mismatches", {off, ",\n  "}},
        {"kinks", kinks}}.text;
}

void add_forms(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& given,
               const attn::Ledger& ledger, bool proves, attn::Document& document) {
    if (!plan.config.rules.empty() || !bugs_of(arguments, plan).empty()) return;
    if (!attn::too_large_to_compare(plan).empty()) return;
    std::vector<attn::JsonText> off;
    for (const attn::FormComparison& each : attn::compare_forms(
             plan, given, ledger, proves ? attn::FormBounds::all : attn::FormBounds::where_far)) {
        const auto section =
            std::ranges::find(document.sections, each.step.name, &attn::Section::name);
        if (each.equal()) {
            if (proves && section != document.sections.end()) add_note(*section, each.text() + ".");
            continue;
        }
        if (proves && section != document.sections.end())
            section->margin += (section->margin.empty() ? "" : "\n") + each.text() + ".";
        document.is_wrong = true;
        document.verdict += (document.verdict.empty() ? "" : "; ") + each.text();
        const std::vector<std::int64_t> cell(each.step.cell.begin(), each.step.cell.end());
        off.push_back({{"name", each.step.name},
                       {"cell", cell},
                       {"form", each.right},
                       {"error", each.step.distance.absolute}});
    }
    if (off.empty()) return;
    document.verdict_json = attn::JsonText{
        {"right", false},
        {"verdict", document.verdict},
        {"mismatches",
         {off, ",\n  "}}}.text;
}

void add_memory(const Arguments& arguments, const attn::Plan& plan, attn::Document& document) {
    const bool is_plain = !arguments.has(flags::only) && !arguments.has(flags::html_compare);
    if (!is_plain || !plan.config.rules.empty() || !bugs_of(arguments, plan).empty()) return;
    if (std::ranges::any_of(document.sections, is_memory)) return;
    for (const auto& file : plan.config.attentions) {
        for (const std::string& form : file->forms) {
            const attn::Plan other = attn::with_form(plan, *file, form);
            const attn::StepTable& table = attn::step_table(other);
            const attn::Ledger ledger = attn::walk(other, attn::draw(other), table);
            attn::Document walked = attn::document_of(other, ledger, table);
            attn::add_rules(walked, other, table);
            std::erase_if(walked.sections, std::not_fn(is_memory));
            if (walked.sections.empty()) continue;
            attn::add_derivations(walked, other, table, ledger);
            for (attn::Section& memory : walked.sections) {
                add_note(memory, "This is a step of form " + form + ".");
                document.sections.push_back(std::move(memory));
            }
            return;
        }
    }
}

void note_equal_rules(const attn::Plan& plan, const attn::Ledger& given, const attn::Ledger& ledger,
                      attn::Document& document) {
    constexpr std::size_t large = 100'000;
    using Verdict = attn::Proof::Verdict;
    for (std::size_t n = 0; n < plan.config.rules.size(); ++n) {
        const std::string step = attn::Rule(plan.config.rules[n]).step;
        const auto section = std::ranges::find(document.sections, step, &attn::Section::name);
        if (section == document.sections.end() || ledger[step].size() > large) continue;
        const attn::FormComparison found = attn::compare_rule(plan, n, given, ledger);
        const bool is_other = found.step.is_bounded && !found.step.equal();
        if (found.proof.verdict == Verdict::proved) {
            section->margin +=
                " It is the same function as the step that it replaces, proved for every input of "
                "these shapes" +
                found.proof.limits() + ".";
        } else if (found.proof.verdict == Verdict::refuted || is_other) {
            section->margin += " It is not the same function as the step that it replaces.";
        } else {
            section->margin +=
                " Whether it is the same function as the step that it replaces is undecided: " +
                found.proof.why + ". On this walk their numbers are " +
                attn::brief(found.step.distance.absolute) + " apart at most.";
        }
    }
}

}  // namespace app
