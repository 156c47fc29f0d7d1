#include "attn/walk/walk.hpp"

#include "attn/simd/parallel.hpp"
#include "attn/walk/memory.hpp"

namespace attn {

void perform(std::span<const Step> steps, const Plan& plan, const Ledger& given, Details details,
             Ledger& ledger) {
    most_threads = static_cast<std::size_t>(plan.config.threads);
    for (const Step& step : steps) {
        if (!step.applies(plan)) continue;
        if (step.kind == Step::Kind::detail && details == Details::skipped) continue;
        const Tensor* known = given.find(step.name);
        if (known) ledger.record(step.name, with_axes_of(step, plan, *known));
        if (step.compute && (!known || step.replaces_given)) {
            ledger.record(step.name, step.compute(plan, ledger));
        }
    }
}

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    require_memory(plan);
    Ledger ledger(chains_of(table));
    perform(table, plan, given, details, ledger);
    return ledger;
}

}  // namespace attn
