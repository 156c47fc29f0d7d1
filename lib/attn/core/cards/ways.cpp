#include <algorithm>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/walk/step_rule.hpp"

// Builds the functions of a step from its paragraphs in the text of attention.

namespace attn {
namespace {

Input input_called(std::string_view name) {
    const Chain chain = chain_called(std::string(name));
    return chain == Chain::none ? Input(std::string(name)) : Input(chain);
}

/// Returns the tensors that a rule reads, in the order of its cells: names before a bracket, in
/// braces if they depend on the walk.
std::vector<Input> inputs_of_rule(std::string_view rule) {
    std::vector<std::string_view> names;
    for (std::size_t at = rule.find('='); (at = rule.find('[', at)) < rule.size(); ++at) {
        std::size_t first = at;
        if (rule[at - 1] == '}') {
            first = rule.rfind('{', at);
        } else {
            while (first > 0 && is_of_name(rule[first - 1])) --first;
        }
        const std::string_view name = rule.substr(first, at - first);
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    std::vector<Input> inputs;
    for (const std::string_view name : names) inputs.push_back(input_called(name));
    return inputs;
}

/// Returns the inputs of one way: those of its `reads` line, or those of its rule.
std::vector<Input> inputs_of(const Way& way) {
    if (!way.has("reads")) return inputs_of_rule(way.rule);
    std::vector<Input> inputs;
    const std::string names = way.specified("reads");
    for (std::string_view rest = names; !rest.empty();) {
        inputs.push_back(input_called(next_token(rest)));
    }
    return inputs;
}

/// True for `at once`: the first word of the line is `at`.
bool is_at_once(const Way& way) { return way.has("at"); }

const CardText::CompiledCards& compiled_cards(const CardText& text, const Way& way) {
    CardText::CompiledCards& result =
        text.compiled[static_cast<std::size_t>(&way - text.ways.data())];
    std::call_once(result.once, [&] {
        result.reads = [&text, &way, inputs = inputs_of(way)](const Plan& plan) {
            std::vector<Input> named = inputs;
            for (Input& each : named) {  // with their names in this walk
                if (!each.step.starts_with('{')) continue;
                each.step = filled(each.step, before_tables(plan, text), way.words);
            }
            std::erase_if(named, [](const Input& each) {  // such as `{b_x}` in a walk without it
                return each.chain == Chain::none && each.step.empty();
            });
            return named;
        };
        Step card = text.card;
        card.reads = result.reads;
        result.compute =
            way.has("loop") ? loop_called(way.specified("loop")).compute(card) : by_rule(card);
    });
    return result;
}

}  // namespace

PlannedStep before_tables(const Plan& plan, const CardText& text) {
    static const StepTable no_steps;
    return {plan, no_steps, text.card};
}

void let_follow(Step& step, CardText& text) {
    const CardText* const all = &text;
    text.compiled = std::vector<CardText::CompiledCards>(text.ways.size());
    step.text = all;
    const bool has_formula =
        std::ranges::any_of(text.ways, [](const Way& way) { return way.has("formula"); });
    if (has_formula) {
        step.formula = [all](const PlannedStep& of) {
            const Way* const way = all->way(of);
            return way == nullptr ? std::string()
                                  : filled(way->specified("formula"), of, way->words);
        };
    }
    if (std::ranges::none_of(text.ways, &Way::has_rule)) return;
    step.rule = [all](const PlannedStep& of) {
        const Way* const way = all->way(of);
        if (way == nullptr || !way->has_rule()) return Rule();
        const std::string rule = filled(way->rule, of, way->words);
        return rule.ends_with("= ") ? Rule() : Rule(rule);  // no right side: it is given
    };
    step.reads = [all](const Plan& plan) {
        const Way* const way = all->way(plan);
        return way == nullptr ? std::vector<Input>() : compiled_cards(*all, *way).reads(plan);
    };
    if (std::ranges::any_of(text.ways, is_at_once)) {
        step.rounds = [all](const Plan& plan) {
            const Way* const way = all->way(plan);
            return way != nullptr && is_at_once(*way) ? RoundedAt::result : RoundedAt::operations;
        };
    }
    step.compute = [all](const Plan& plan, const Ledger& ledger) {
        const Way* const way = all->way(plan);
        return compiled_cards(*all, way == nullptr ? all->ways.back() : *way).compute(plan, ledger);
    };
}

bool all_true(const std::vector<Condition>& conditions, const PlannedStep& of) {
    return std::ranges::all_of(conditions, [&](const Condition& each) { return each.holds(of); });
}

bool Way::is_meant(const PlannedStep& of) const { return all_true(conditions, of); }
bool Way::has(std::string_view word) const { return has_word(lines, word); }
std::string Way::specified(std::string_view word) const { return text_after(lines, word); }

const Way* CardText::way(const PlannedStep& of) const {
    for (const Way& each : ways) {
        if (each.is_meant(of)) return &each;
    }
    return nullptr;
}

const Way* CardText::way(const Plan& plan) const { return way(before_tables(plan, *this)); }

}  // namespace attn
