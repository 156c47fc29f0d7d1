#include "attn/render/document.hpp"

#include "attn/notes/notes.hpp"

namespace attn {

Document document_of(const Plan& plan, const Ledger& ledger, const StepTable& table) {
    Document document;
    document.query_tokens = plan.query_tokens;
    document.key_tokens = plan.key_tokens;
    bool is_right = true;
    for (const Step& step : table) {
        const Tensor* tensor = ledger.find(step.name);
        if (tensor == nullptr) continue;
        Section section;
        section.name = step.name;
        section.title = step.title;
        section.formula = formula_of(step, plan, table);
        section.margin = step.mistake;
        // From the first mistake on the sentences, which speak of right numbers, are left out.
        is_right = is_right && step.mistake.empty();
        if (is_right) section.note = step_note({plan, table, step}, ledger);
        section.content = *tensor;
        section.shown = step.shown;
        section.detail = step.kind == Step::Kind::detail;
        section.tokens = step.tokens;
        document.sections.push_back(std::move(section));
    }
    return document;
}

}  // namespace attn
