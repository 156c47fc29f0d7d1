#include "attn/core/cards/step_table.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/completed_rule.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns the step of a rule, which this walk must compute.
Step& step_of(const Rule& rule, StepTable& table, const Plan& plan) {
    const auto step = std::ranges::find(table, rule.step, &Step::name);
    if (step == table.end() || !step->applies(plan)) {
        if (step != table.end() && (rule.step == "mask" || rule.step == "masked_scores")) {
            refuse_rule(rule.text, 0,
                        "this walk has no mask: " + "pass $mask causal"_message +
                            " first, and your rule replaces its " + rule.step);
        }
        std::vector<std::string> names;
        for (const Step& each : table) {
            if (each.applies(plan) && each.compute && each.outline) names.push_back(each.name);
        }
        refuse_rule(rule.text, 0,
                    "this walk has no step " + rule.step +
                        did_you_mean(rule.step, names, ": it computes " + some_of(names)));
    }
    const bool is_computed = step->kind == Step::Kind::computed || step->kind == Step::Kind::detail;
    if (!is_computed || !step->compute || !step->outline) {
        refuse_rule(rule.text, 0,
                    rule.step +
                        " is drawn or given, and rules replace computed "
                        "steps: query, scores, weights, ...");
    }
    return *step;
}

/// True if a step depends on the result of a user's rule but recomputes it, as softmax does with
/// its parts.
bool overlooks_rules(const PlannedStep& of) {
    const bool is_computed = of.step.rule && of.step.compute && of.step.applies(of.plan);
    if (!is_computed || of.step.of_user()) return false;
    // As written in the card: the latest of a chain is always among the step's inputs.
    const Rule rule = of.step.rule(of);
    if (rule.value == nullptr) return false;
    return std::ranges::any_of(tensors_read(rule), [&](const std::string& name) {
        if (chain_called(name) != Chain::none) return false;
        const auto read = std::ranges::find(of.table, exact_name(name).first, &Step::name);
        return read != of.table.end() && read->of_user() && !of.reads(name);
    });
}

/// Converts the numbers of an integer step, such as positions.
Tensor whole_numbers(const Rule& rule, const Tensor& result) {
    constexpr double largest = 1e15;
    Array<std::int64_t> whole = empty_array<std::int64_t>(result.shape());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const double number = result.at(i);
        if (number != std::floor(number) || std::abs(number) > largest) {
            refuse_rule(rule.text, 0,
                        rule.step + " has integers, not " + brief(number) + ": write floor(...)");
        }
        whole.data()[i] = static_cast<std::int64_t>(number);
    }
    return {result.axes(), std::move(whole)};
}

}  // namespace

void require_own_letters(const Rule& rule, const Outline& result) {
    if (rule.indices.empty() && !result.axes.empty()) {
        refuse_rule(rule.text, 0,
                    rule.step + " is " + described(result.axes, result.shape) +
                        ": write the indices that its cells have");
    }
    std::vector<std::string> letters;
    for (const std::string& axis : result.axes) letters.push_back(axis.substr(0, 1));
    const auto left_out = letters.begin() + std::max<std::ptrdiff_t>(
                                                std::ssize(letters) - std::ssize(rule.indices), 0);
    const auto is_letter = [&](const std::string& index) {
        return std::ranges::count(letters, index) > 0;
    };
    const bool misses = std::any_of(letters.begin(), left_out, [&](const std::string& letter) {
        return std::ranges::count(rule.indices, letter) > 0;
    });
    if (misses && std::ranges::all_of(rule.indices, is_letter)) {
        refuse_rule(rule.text, 0,
                    rule.step + " is " + described(result.axes, result.shape) +
                        ": write all indices, " + rule.step + "[" + joined(letters, ",") + "]");
    }
}

void add_chain_remarks(const Rule& displayed, const PlannedStep& of,
                       std::vector<std::string>& remarks) {
    for (const std::string& name : tensors_read(displayed)) {
        if (of.step.names_steps() || chain_called(name) == Chain::none || !of.has(name)) continue;
        const std::string meant = rule_names(of).step(name);
        if (meant == name) continue;
        remarks.push_back(name + " here is " + meant + ": write latest " + name +
                          ", because from the next version on " + name + " is the step itself.");
    }
}

Rule follow_rule(Step& step, const PlannedStep& of, const Rule& displayed) {
    require_whole_rule(displayed);
    const bool is_mask = step.holds == RuleType::truth;
    if (gives_truth(*displayed.value) != is_mask) {
        refuse_rule(
            displayed, displayed.value->at,
            step.name + (is_mask ? " is a boolean, such as k > q, true for hidden cells"
                                 : " is a number, and this is a boolean: write if ... then 1 "
                                   "else 0"));
    }
    Rule whole = completed(displayed, step.outline(of.plan), rule_names(of));
    require_order(whole);
    const bool by_chain = !step.names_steps();
    std::vector<Input> inputs;
    for (const std::string& name : tensors_read(displayed)) {
        if (name == step.name) continue;  // earlier rows
        const Chain chain = by_chain ? chain_called(name) : Chain::none;
        inputs.push_back(chain == Chain::none ? Input(exact_name(name).first) : Input(chain));
    }
    step.reads = [inputs](const Plan&) { return inputs; };
    const bool counts = step.holds == RuleType::whole;
    const bool is_own = std::ranges::count(tensors_read(displayed), step.name) > 0;
    step.compute = [displayed, by_chain, counts, is_own, name = step.name, outline = step.outline,
                    completed = std::make_shared<CompletedRule>()](const Plan& plan,
                                                                   const Ledger& ledger) {
        const Outline result = outline(plan);
        RuleScope scope = rule_scope(plan, ledger, name, !by_chain);
        if (is_own) scope.own = result;
        Tensor tensor = completed->evaluate(displayed, result, plan.compute_dtype, scope);
        return counts ? whole_numbers(displayed, tensor) : tensor;
    };
    step.rule = [displayed](const PlannedStep&) { return displayed; };
    step.formula = nullptr;
    step.code = nullptr;
    step.text = nullptr;
    return whole;
}

void show_parts(Step& step, StepTable& table, const Plan& plan) {
    if (step.kind == Step::Kind::detail) {
        step.kind = Step::Kind::computed;
        step.shown = true;
    }
    for (const Input& input : step.reads(plan)) {
        const auto part = std::ranges::find(table, input.step, &Step::name);
        if (part != table.end() && part->kind == Step::Kind::detail) {
            show_parts(*part, table, plan);
        }
    }
}

StepTable with_rules(StepTable table, const Plan& plan, const std::vector<std::string>& rules) {
    Definitions definitions;
    for (const auto& file : plan.config.attentions) {
        definitions.insert(file->definitions.begin(), file->definitions.end());
    }
    for (const std::string& text : rules) {
        Rule displayed = parse_rule(text, definitions);
        if (names_latest(*displayed.value)) displayed.value = with_exact_names(displayed.value);
        if (plan.fused()) {
            refuse_rule(displayed.text, 0,
                        "fused works block by block and stores no step that a rule could replace: "
                        "choose another variant");
        }
        Step& step = step_of(displayed, table, plan);
        if (step.mistake_ids == users_rule) {
            refuse_rule(displayed.text, 0, "two rules make " + step.name + ": leave one out");
        }
        require_own_letters(displayed, step.outline(plan));
        const Rule whole = follow_rule(step, {plan, table, step}, displayed);
        step.replaces_given = true;
        step.mistake_ids = users_rule;
        step.mistake = "Your rule computes this step, and later steps follow from it.";
        const Outline result = step.outline(plan);
        const bool in_float32 = plan.compute_dtype == DType::float32;
        std::vector<std::string> remarks = remarks_on(whole, result, in_float32);
        add_chain_remarks(displayed, {plan, table, step}, remarks);
        for (const std::string& remark : remarks) step.mistake += " " + remark;
    }
    follow_sums_of_parts(table, plan);
    return table;
}

void follow_sums_of_parts(StepTable& table, const Plan& plan) {
    if (std::ranges::none_of(table, &Step::of_user)) return;
    for (Step& step : table) {
        const PlannedStep of{plan, table, step};
        const bool overlooks = overlooks_rules(of);
        if (overlooks) follow_rule(step, of, step.rule(of));
        if (overlooks || step.of_user()) show_parts(step, table, plan);
    }
}

}  // namespace attn
