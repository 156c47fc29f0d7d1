#include "attn/cards/rule_step.hpp"

#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/rules/evaluate.hpp"
#include "attn/rules/python.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/closest.hpp"
#include "attn/text/strings.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
    const std::string meant = closest(name, names);
    return meant.empty() ? ": the tensors before it are " + some_of(names)
                         : "; did you mean " + meant + "?";
}

/// Whether an expression is a truth as it is written.
bool gives_truth(const RuleNode& node) {
    const std::string& word = node.word;
    if (node.kind == RuleNode::Kind::choose) return gives_truth(*node.parts[1]);
    if (node.kind == RuleNode::Kind::cell) return word == "mask";
    return node.kind == RuleNode::Kind::operate &&
           (word == "and" || word == "or" || word == "not" ||
            std::string("<>=!").find(word.front()) != std::string::npos);
}

/// The step of a rule, which a walk like this computes.
Step& step_of(const Rule& rule, StepTable& table, const Plan& plan) {
    const auto step = std::ranges::find(table, rule.step, &Step::name);
    if (step == table.end() || !step->applies(plan)) {
        std::vector<std::string> names;
        for (const Step& each : table) {
            if (each.applies(plan) && each.compute && each.outline) names.push_back(each.name);
        }
        refuse_rule(rule.text, 0,
                    "this walk has no step " + rule.step + did_you_mean(rule.step, names));
    }
    const bool is_computed = step->kind == Step::Kind::computed || step->kind == Step::Kind::detail;
    if (!is_computed || !step->compute || !step->outline) {
        refuse_rule(rule.text, 0,
                    rule.step +
                        " is drawn or given, and rules are for what is "
                        "computed of it: query, scores, weights, ...");
    }
    return *step;
}

}  // namespace

void follow_rule(Step& step, const PlannedStep& of, const Rule& told) {
    const auto rule =
        std::make_shared<const Rule>(completed(told, step.outline(of.plan), rule_names(of)));
    const bool is_mask = step.name == "mask";
    if (gives_truth(*rule->value) != is_mask) {
        refuse_rule(rule->text, rule->value->at,
                    step.name + (is_mask ? " is a truth, such as k > q, true where it hides"
                                         : " is a number, and this is a truth: say if ... then 1 "
                                           "else 0"));
    }
    std::vector<Input> inputs;
    for (const std::string& name : tensors_read(*rule)) inputs.emplace_back(name);
    step.reads = these(inputs);
    step.compute = [rule, outline = step.outline](const Plan& plan, const Ledger& ledger) {
        const RuleScope scope{
            [&](const std::string& name) -> const Tensor& { return ledger[name]; }, {}};
        const Outline made = outline(plan);
        return evaluate_rule(*rule, made.axes, made.shape, plan.compute_dtype, scope);
    };
    step.replaces_given = true;
    step.rule = always(told.text);
    step.formula = nullptr;
    step.code = [rule, outline = step.outline](const StepLines& lines) {
        const RulePython with{
            lines.torch(), outline(lines.plan),
            gives_truth(*rule->value) ? "" : std::string(dtype_name(lines.plan.compute_dtype)),
            rule_names(lines).outline};
        return rule_python(*rule, with);
    };
}

StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules) {
    for (const std::string& text : rules) {
        const Rule told = parse_rule(text);
        if (plan.fused()) {
            refuse_rule(told.text, 0,
                        "fused goes block by block and keeps no step that a rule could replace: "
                        "choose another variant");
        }
        Step& step = step_of(told, table, plan);
        follow_rule(step, {plan, table, step}, told);
        step.note = nullptr;
        step.mistake_ids = "your rule";
        step.mistake = "Your rule makes this step and what follows from it.";
    }
    return table;
}

}  // namespace attn
