#include "attn/walk/walk.hpp"

#include "attn/walk/memory.hpp"
#include "attn/walk/windows.hpp"

namespace attn {
namespace {

bool has_usual_shapes(const Plan& plan, const Ledger& ledger) {
    return ledger.latest(Chain::queries).shape() ==
               plan.per_head_shape(plan.query_len, plan.head_dim) &&
           ledger.latest(Chain::keys).shape() == plan.per_head_shape(plan.key_len, plan.head_dim) &&
           ledger.latest(Chain::values).shape() ==
               plan.per_head_shape(plan.key_len, plan.value_dim);
}

/// Whether the walk has this step and keeps it.
bool keeps(const Step& step, const Plan& plan, Details details) {
    return step.applies(plan) && (step.kind != Step::Kind::detail || details == Details::kept);
}

}  // namespace

Ledger walk(const Plan& plan, const Ledger& given, const StepTable& table, Details details) {
    require_memory(plan);
    const bool in_windows = runs_in_windows(plan, given, table);
    Ledger ledger(chains_of(table));
    Ledger from_windows;
    for (const Step& step : table) {
        if (!keeps(step, plan, details)) continue;
        if (in_windows && step.name == "scores" && has_usual_shapes(plan, ledger)) {
            std::vector<std::string> wanted;
            for (const Step& other : table) {
                if (is_attention_step(other.name) && keeps(other, plan, details)) {
                    wanted.push_back(other.name);
                }
            }
            from_windows = evaluate_windows(plan, ledger, all_rows(plan), wanted);
        }
        if (const Tensor* tensor = from_windows.find(step.name)) {
            ledger.record(step.name, *tensor);
        } else if (const Tensor* known = given.find(step.name)) {
            ledger.record(step.name, with_axes_of(step, plan, *known));
            if (step.replaces_given) ledger.record(step.name, step.compute(plan, ledger));
        } else if (step.compute) {
            ledger.record(step.name, step.compute(plan, ledger));
        }
    }
    return ledger;
}

}  // namespace attn
