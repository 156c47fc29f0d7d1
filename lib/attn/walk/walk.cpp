#include "attn/walk/walk.hpp"

namespace attn {

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    Ledger ledger;
    for (const Step& step : table) {
        if (!step.applies(plan)) continue;
        if (step.kind == Step::Kind::detail && details == Details::skipped) continue;
        if (const Tensor* tensor = given.find(step.name)) {
            ledger.record(step.name, *tensor);
            if (step.replaces_given) ledger.record(step.name, step.compute(plan, ledger));
        } else if (step.compute) {
            ledger.record(step.name, step.compute(plan, ledger));
        }
    }
    return ledger;
}

}  // namespace attn
