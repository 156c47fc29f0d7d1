#include <algorithm>
#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

bool never(const Plan&) { return false; }

/// True if all inputs of a computed step are in `result`. A step without inputs needs a rule or,
/// like a position bias, a file.
bool can_be_computed(const PlannedStep& of, const std::set<std::string>& result) {
    if (!of.step.rule) return false;
    const std::vector<Input> inputs = of.step.reads(of.plan);
    if (inputs.empty()) {
        const bool is_of_file = of.step.name == "position_bias" && of.plan.biases() &&
                                of.plan.config.position_bias->given;
        return is_of_file || of.step.rule(of).value != nullptr;
    }
    for (const Input& input : inputs) {
        if (input.chain != Chain::none) {
            const auto is_latest = [&](const Step& each) {
                return each.chain == input.chain && result.contains(each.name);
            };
            if (std::ranges::none_of(of.table, is_latest)) return false;
        } else if (!result.contains(input.step) &&
                   find_step(step_table(), input.step).applies(of.plan)) {
            return false;
        }
    }
    return true;
}

}  // namespace

void begin_at(const std::string& beginning, StepTable& table, const Plan& plan) {
    if (plan.fused()) {
        throw ConfigError("fused starts from query, key and value, block by block, and " +
                          beginning + " begins later: choose another variant");
    }
    const DrawList drawn = draw_list(plan);
    std::set<std::string> result;
    for (Step& step : table) {
        const bool is_given = find_drawn(drawn, step.name) != nullptr;
        if (is_given && step.kind == Step::Kind::computed) {
            step.reads = [](const Plan&) { return std::vector<Input>(); };
            step.applies = [](const Plan&) { return true; };
            step.rule = {};
            step.compute = {};
            step.formula = [](const PlannedStep& of) { return of.step.name + " as given"; };
        }
        if (!step.applies(plan)) continue;
        if (is_given || can_be_computed({plan, table, step}, result)) {
            result.insert(step.name);
        } else {
            step.applies = never;
        }
    }
    const std::set<std::string> needed = needed_steps(table, plan);
    for (Step& step : table) {
        if (!needed.contains(step.name) && step.kind != Step::Kind::detail) step.applies = never;
    }
}

}  // namespace attn
