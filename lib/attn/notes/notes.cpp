#include "attn/notes/notes.hpp"

namespace attn {

std::string step_note(const PlannedStep& of, const Ledger& ledger) {
    const Tensor* tensor = ledger.find(of.step.name);
    if (tensor == nullptr || tensor->size() == 0 || !of.step.note) return {};
    return of.step.note({of, ledger, *tensor});
}

}  // namespace attn
