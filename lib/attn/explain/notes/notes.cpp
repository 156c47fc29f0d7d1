#include "attn/explain/notes/notes.hpp"

#include <algorithm>

#include "attn/core/plan/attention_file.hpp"
#include "attn/explain/notes/feature_notes.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/explain/notes/step_notes.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

bool has_note(const PlannedStep& of) {
    for (const Step& step : of.table) {
        if (!step.mistake.empty() && step.applies(of.plan)) return false;
        if (step.name == of.step.name) break;
    }
    const Step& step = of.step;
    const bool has_own = step.stated != nullptr && !step.stated->note.empty();
    return step.note || has_own || !step.remarks.empty() || notes::note_on(step);
}

std::map<std::string, std::string> mistakes_in_step(const PlannedStep& of) {
    using Mistakes = std::map<std::string, std::string>;
    std::map<std::string, Mistakes> before;
    std::map<Chain, std::string> latest;
    for (const Step& step : of.table) {
        if (!step.applies(of.plan)) continue;
        Mistakes& mistakes = before[step.name];
        for (const Input& input : step.reads(of.plan)) {
            const std::string& name = input.chain == Chain::none ? input.step : latest[input.chain];
            mistakes.merge(Mistakes(before[name]));
        }
        if (step.name == of.step.name) return mistakes;
        if (!step.mistake.empty()) mistakes[step.name] = step.mistake_ids;
        if (step.chain != Chain::none) latest[step.chain] = step.name;
    }
    return {};
}

Prose displayed_title(const PlannedStep& of) {
    std::vector<std::string> ids;
    const bool right =
        std::ranges::all_of(of.table, [](const Step& step) { return step.mistake.empty(); });
    if (right) return of.step.title;
    for (const auto& [step, mistakes] : mistakes_in_step(of)) ids.push_back(mistakes);
    return of.step.title + (ids.empty() ? "" : " (after " + joined(ids) + ")");
}

std::string step_note(const PlannedStep& of, const Ledger& ledger, const Excerpt& excerpt,
                      std::span<const Ledger> chunks) {
    const Tensor* tensor = ledger.find(of.step.name);
    if (tensor == nullptr || tensor->size() == 0 || !has_note(of)) return {};
    const notes::Subject subject{of, ledger, *tensor, excerpt, chunks};
    std::string note;
    if (of.step.note) {
        note = of.step.note(subject);
    } else if (const notes::StepNote* own_note = notes::note_on(of.step)) {
        note = own_note->note(subject);
    } else {
        note = notes::file_note(subject);
        notes::append_sentence(note, of.step.remarks);
    }
    if (excerpt.is_whole()) notes::append_sentence(note, notes::feature_sentence(of, *tensor));
    return note;
}

std::string step_note(const PlannedStep& of, const Ledger& ledger,
                      const std::vector<AxisPart>& place) {
    const Tensor* tensor = ledger.find(of.step.name);
    if (tensor == nullptr) return {};
    const Excerpt excerpt(of.step, tensor->axes(), tensor->shape(), place);
    return step_note(of, excerpt.cut(ledger, of.table), excerpt);
}

}  // namespace attn
