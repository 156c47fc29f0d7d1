#include "attn/notes/notes.hpp"

namespace attn {
namespace {

/// Whether a mistake was made at the step or before it.
bool stands_behind_mistake(const PlannedStep& of) {
    for (const Step& step : of.table) {
        if (!step.mistake.empty() && step.applies(of.plan)) return true;
        if (step.name == of.step.name) break;
    }
    return false;
}

}  // namespace

std::string step_note(const PlannedStep& of, const Ledger& ledger, const Excerpt& excerpt) {
    const Tensor* tensor = ledger.find(of.step.name);
    if (tensor == nullptr || tensor->size() == 0 || !of.step.note) return {};
    if (stands_behind_mistake(of)) return {};
    return of.step.note({of, ledger, *tensor, excerpt});
}

std::string step_note(const PlannedStep& of, const Ledger& ledger,
                      const std::vector<AxisPart>& place) {
    const Tensor* tensor = ledger.find(of.step.name);
    if (tensor == nullptr) return {};
    const Excerpt excerpt(of.step, tensor->axes(), tensor->shape(), place);
    return step_note(of, excerpt.cut(ledger, of.table), excerpt);
}

}  // namespace attn
