#include "attn/rules/rule_step.hpp"

#include <algorithm>
#include <numbers>

#include "attn/codegen/step_lines.hpp"
#include "attn/rules/evaluate.hpp"
#include "attn/rules/python.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/closest.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

Chain chain_called(const std::string& name) {
    if (name == "queries") return Chain::queries;
    if (name == "keys") return Chain::keys;
    if (name == "values") return Chain::values;
    if (name == "scores") return Chain::scores;
    return name == "weights" ? Chain::weights : Chain::none;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
    const std::string meant = closest(name, names);
    return meant.empty() ? ": the tensors before it are " + some_of(names)
                         : "; did you mean " + meant + "?";
}

/// The steps of a walk before the named one, those that apply.
std::vector<std::string> steps_before(const StepTable& table, const Plan& plan,
                                      const std::string& name) {
    std::vector<std::string> names;
    for (const Step& step : table) {
        if (step.name == name) break;
        if (step.applies(plan)) names.push_back(step.name);
    }
    return names;
}

/// The step that a name in a rule stands for.
std::string step_called(const std::string& name, const Rule& rule, const StepTable& table,
                        const Plan& plan) {
    const std::vector<std::string> before = steps_before(table, plan, rule.step);
    if (const Chain chain = chain_called(name); chain != Chain::none) {
        std::string latest;
        for (const Step& step : table) {
            if (step.name == rule.step) break;
            if (step.applies(plan) && step.chain == chain) latest = step.name;
        }
        if (!latest.empty()) return latest;
    }
    if (std::ranges::find(before, name) != before.end()) return name;
    const auto later = std::ranges::find(table, name, &Step::name);
    if (name == rule.step) throw ConfigError(name + " would be made of itself");
    if (later != table.end() && later->applies(plan)) {
        throw ConfigError(name + " is made after " + rule.step);
    }
    throw ConfigError("there is no tensor '" + name + "' here" + did_you_mean(name, before));
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

void check_names(const RuleNode& node, const Rule& rule, const StepTable& table, const Plan& plan) {
    if (node.kind == RuleNode::Kind::cell) {
        try {
            step_called(node.word, rule, table, plan);
        } catch (const ConfigError& error) {
            refuse_rule(rule.text, node.at, error.what());
        }
    }
    for (const RuleTree& part : node.parts) check_names(*part, rule, table, plan);
}

}  // namespace

std::map<std::string, double> rule_settings(const Plan& plan) {
    const auto number = [](std::size_t size) { return static_cast<double>(size); };
    const bool divides = plan.scale.operation == ScaleFactor::Operation::divide;
    std::map<std::string, double> settings{
        {"H", number(plan.heads)},
        {"G", number(plan.kv_heads)},
        {"D", number(plan.head_dim)},
        {"Dv", number(plan.value_dim)},
        {"C", number(plan.embed_dim)},
        {"Tq", number(plan.query_len)},
        {"Tk", number(plan.key_len)},
        {"P", number(plan.past_len)},
        {"group", number(plan.queries_per_key())},
        {"pi", std::numbers::pi},
        {"scale", divides ? plan.scale.number : 1 / plan.scale.number}};
    if (plan.caps()) settings["cap"] = plan.config.softcap;
    return settings;
}

StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules) {
    for (const std::string& text : rules) {
        const auto rule = std::make_shared<const Rule>(parse_rule(text));
        if (plan.fused()) {
            refuse_rule(rule->text, 0,
                        "fused goes block by block and keeps no step that a rule could replace: "
                        "choose another variant");
        }
        Step& step = step_of(*rule, table, plan);
        check_names(*rule->value, *rule, table, plan);
        const bool is_mask = step.name == "mask";
        if (gives_truth(*rule->value) != is_mask) {
            refuse_rule(rule->text, rule->value->at,
                        step.name + (is_mask ? " is a truth, such as k > q, true where it hides"
                                             : " is a number, and this is a truth: say if ... "
                                               "then 1 else 0"));
        }
        std::map<std::string, std::string> named;
        std::vector<Input> inputs;
        for (const std::string& name : tensors_read(*rule)) {
            named[name] = step_called(name, *rule, table, plan);
            inputs.emplace_back(named[name]);
        }
        step.reads = [inputs](const Plan&) { return inputs; };
        step.compute = [rule, named, outline = step.outline](const Plan& of, const Ledger& ledger) {
            const RuleScope scope{
                [&](const std::string& name) -> const Tensor& { return ledger[named.at(name)]; },
                rule_settings(of)};
            const Outline made = outline(of);
            return evaluate_rule(*rule, made.axes, made.shape, of.compute_dtype, scope);
        };
        step.replaces_given = true;
        step.formula = [rule](const PlannedStep&) { return rule->text; };
        step.code = [rule, named, outline = step.outline](const StepLines& of) {
            const Outline made = outline(of.plan);
            const RulePython with{
                of.torch(),
                made.axes,
                made.shape,
                gives_truth(*rule->value) ? "" : std::string(dtype_name(of.plan.compute_dtype)),
                [&](const std::string& name) { return named.at(name); },
                [&](const std::string& name) { return find_step(of.table, name).outline(of.plan); },
                rule_settings(of.plan)};
            return rule_python(*rule, with);
        };
        step.why = nullptr;
        step.note = nullptr;
        step.mistake_ids = "your rule";
        step.mistake = "Your rule makes this step and what follows from it.";
    }
    return table;
}

}  // namespace attn
