#include "attn/judge/mistakes/gradient_mistakes.hpp"

#include <algorithm>
#include <map>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/graph.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// The names and rules of a table with gradients.
struct Way {
    const StepTable& table;
    const Plan& plan;

    bool has(const std::string& name) const { return has_step(table, plan, name); }
    Outline outline(const std::string& name) const { return find_step(table, name).outline(plan); }
    /// Returns `[h,q,k]`, with one letter replaced.
    std::string at(const std::string& name, const std::string& letter = "",
                   const std::string& other = "") const {
        std::string all;
        for (const std::string& each : BackwardGraph::indices_of(outline(name))) {
            all += (all.empty() ? "" : ",") + (each == letter ? other : each);
        }
        return "[" + all + "]";
    }
    /// Returns the last step of a chain, or the one that `reader` was computed from.
    std::string latest(Chain chain, const std::string& reader = "") const {
        std::string name;
        for (const Step& step : table) {
            if (step.name == reader) break;
            if (step.chain == chain && step.applies(plan)) name = step.name;
        }
        return name;
    }
    Rule rule(const std::string& name) const {
        return *rule_of({plan, table, find_step(table, name)});
    }
};

/// New rules for steps of the backward pass, by step name; empty if the mistake has no effect.
using Rules = std::map<std::string, Rule>;
using WrongRules = Rules (*)(const Way&);

Rule stated_rule(const std::string& step, const Way& way, const RuleTree& value) {
    Rule rule = way.rule(step);
    rule.text.clear();
    rule.value = value;
    return rule;
}

/// Replaces the sum over an index by its last term.
RuleTree last_alone(const RuleTree& tree, const std::string& index, std::size_t length) {
    const auto is_all = [&](const RuleNode& sum) {
        return is_number(*sum.parts[0], 0) && is_number(*sum.parts[1], static_cast<double>(length));
    };
    return changed(tree, [&](const RuleNode& node) -> RuleTree {
        if (node.kind != Kind::reduce || node.index != index || !is_all(node)) return nullptr;
        const RuleTree last = number_node(static_cast<double>(length - 1));
        return substituted(node.parts[2], {{index, last}}, {});
    });
}

/// Returns a word in braces in a rule of these paragraphs: the cell of a step, `weights[h,q,k]` for
/// `{weights}`, that of key j for `{weights j}`, or the scale after its operator. `{scores}` are
/// the latest ones, `{open}` and `{unscaled}` those before the mask and the scale. nullopt if this
/// walk lacks the step.
std::optional<std::string> cell_called(std::string_view word, const Way& way) {
    const ScaleFactor& scale = way.plan.scale;
    if (word == "scale") {
        return (scale.operation == ScaleFactor::Operation::divide ? " / " : " * ") +
               expression_text(*number_node(scale.number));
    }
    const bool is_other = word.ends_with(" j");
    if (is_other) word.remove_suffix(2);
    const std::string name = word == "scores"     ? way.latest(Chain::scores)
                             : word == "open"     ? way.latest(Chain::scores, "masked_scores")
                             : word == "unscaled" ? way.latest(Chain::scores, "scaled_scores")
                                                  : std::string(word);
    if (!way.has(name)) return std::nullopt;
    return name + way.at(name, is_other ? "k" : "", "j");
}

/// Returns the rules that a paragraph states; none if this walk lacks one of their steps, or one
/// that the paragraph needs.
Rules stated_rules(const MistakeText& text, const Way& way) {
    Rules rules;
    for (const auto& [word, remainder] : text.lines) {
        for (std::string_view rest = remainder; word == "needs" && !rest.empty();) {
            const std::string need(next_token(rest));
            const auto condition = find_condition(replaced_all(need, "_", " "));
            if (condition ? !condition(way.plan) : !way.has(need)) return {};
        }
        if (word != "rule") continue;
        const std::string rule =
            filled(remainder, [&](std::string_view cell) { return cell_called(cell, way); });
        const std::string step = rule.substr(0, rule.find('['));
        if (rule.find('{') != rule.npos || !way.has(step)) return {};
        rules[step] = rule;
    }
    return rules;
}

/// Computes the gradient of a key or value with the transpose of `matrix`.
Rules not_transposed(const Way& way, const std::string& of, const std::string& matrix) {
    const std::string step = "d_" + of;
    if (!way.has(step) || way.plan.query_len != way.plan.key_len) return {};
    const Rule rule = way.rule(step);
    const RuleTree wrong = changed(rule.value, [&](const RuleNode& node) -> RuleTree {
        if (node.kind != Kind::cell || node.word != matrix) return nullptr;
        std::vector<RuleTree> parts = node.parts;
        std::swap(parts.end()[-1], parts.end()[-2]);
        RuleNode turned = node;
        turned.parts = std::move(parts);
        return tree_of(std::move(turned));
    });
    return {{step, stated_rule(step, way, wrong)}};
}
Rules key_not_transposed(const Way& way) {
    return not_transposed(way, way.latest(Chain::keys, "scores"), "d_scores");
}
Rules value_not_transposed(const Way& way) {
    return not_transposed(way, way.latest(Chain::values, "context"), "weights");
}

/// Replaces the rules of all parameter gradients with that prefix.
template <class Wrong>
Rules of_parameters(const Way& way, const std::string& begin, const Wrong& wrong) {
    Rules rules;
    for (const Step& step : way.table) {
        if (!step.name.starts_with("d_" + begin) || !step.applies(way.plan)) continue;
        const RuleTree right = way.rule(step.name).value;
        const RuleTree tree = wrong(step.name, right);
        if (tree != nullptr && !same_tree(*tree, *right)) {
            rules[step.name] = stated_rule(step.name, way, tree);
        }
    }
    return rules;
}

Rules weight_not_transposed(const Way& way) {
    return of_parameters(way, "w_", [&](const std::string& step, const RuleTree& tree) -> RuleTree {
        const Shape shape = way.outline(step).shape;
        const std::vector<std::string> indices = way.rule(step).indices;
        if (shape.end()[-1] != shape.end()[-2]) return nullptr;
        const std::string& row = indices.end()[-2];
        const std::string& column = indices.end()[-1];
        return substituted(tree, {{row, name_node(column)}, {column, name_node(row)}}, {});
    });
}
Rules batch_not_summed(const Way& way) {
    if (!way.plan.has_batch || way.plan.batch < 2) return {};
    return of_parameters(way, "", [&](const std::string& step, const RuleTree& tree) -> RuleTree {
        const bool is_parameter = step.starts_with("d_w_") || step.starts_with("d_b_");
        return is_parameter ? last_alone(tree, "b", way.plan.batch) : nullptr;
    });
}
Rules bias_not_summed(const Way& way) {
    return of_parameters(way, "b_", [&](const std::string&, const RuleTree& tree) {
        return last_alone(tree, "t", way.plan.query_len);
    });
}

Rules heads_not_summed(const Way& way) {
    Rules rules;
    for (const Step& step : way.table) {
        if (!step.name.starts_with("repeated_") || !way.has("d_" + step.name)) continue;
        const std::string to = "d_" + way.latest(step.chain, step.name);
        const RuleTree tree = way.rule(to).value;
        if (tree->kind != Kind::reduce) continue;
        rules[to] =
            stated_rule(to, way, substituted(tree->parts[2], {{tree->index, tree->parts[0]}}, {}));
    }
    return rules;
}

Rules rotated_on(const Way& way) {
    Rules rules;
    for (const Step& step : way.table) {
        if (!step.name.starts_with("rotated_") || !way.has("d_" + step.name)) continue;
        const std::string to = "d_" + way.latest(step.chain, step.name);
        rules[to] =
            stated_rule(to, way, changed(way.rule(to).value, [](const RuleNode& node) -> RuleTree {
                            if (node.kind != Kind::cell || !node.word.ends_with("sin")) {
                                return nullptr;
                            }
                            return operate_node("-", {tree_of(node)});
                        }));
    }
    return rules;
}

Rules overwritten(const Way& way) {
    if (!way.has("d_embedding") || way.plan.has_batch) return {};
    const std::string count = std::to_string(way.plan.query_len);
    return {{"d_embedding", "d_embedding[v,f] = sum t: if ids[t] == v and (sum s in t + 1.." +
                                count +
                                ": if ids[s] == v then 1 else 0) == 0 then d_x[t,f] else 0"}};
}

/// The rules of mistakes that are not stated in data/mistakes/gradients.txt, by id.
constexpr std::pair<std::string_view, WrongRules> rules_by_id[]{
    {"grad-key-transpose", key_not_transposed},
    {"grad-value-transpose", value_not_transposed},
    {"grad-weight-transpose", weight_not_transposed},
    {"grad-heads-not-summed", heads_not_summed},
    {"grad-batch-not-summed", batch_not_summed},
    {"grad-bias-not-summed", bias_not_summed},
    {"grad-rotated-forward", rotated_on},
    {"grad-embedding-overwritten", overwritten}};

/// Returns the mistake of a paragraph, whose rules are computed when it is made.
Mistake gradient_mistake(const MistakeText& text) {
    const auto known =
        std::ranges::find(rules_by_id, text.id, [](const auto& each) { return each.first; });
    if (known == std::end(rules_by_id) && !text.has("rule")) {
        text.refuse("no rules of gradients have that id");
    }
    Mistake mistake = described(text);
    mistake.not_applicable = [](const Plan&) { return std::string(); };
    const WrongRules own = known == std::end(rules_by_id) ? nullptr : known->second;
    mistake.apply = [id = mistake.id, title = mistake.title.raw(), effect = mistake.effect.raw(),
                     own, &text](StepTable table, const Plan& plan) {
        const Way way{table, plan};
        for (const auto& [name, rule] : own != nullptr ? own(way) : stated_rules(text, way)) {
            Step& new_step = *std::ranges::find(table, name, &Step::name);
            follow_rule(new_step, {plan, table, new_step}, rule);
            show_parts(new_step, table, plan);
            new_step.mistake_ids += (new_step.mistake_ids.empty() ? "" : ", ") + id;
            new_step.mistake = title + ": " + effect + ".";
        }
        return table;
    };
    return mistake;
}

}  // namespace

const std::vector<Mistake>& gradient_mistakes() {
    static const std::vector<Mistake> all = [] {
        std::vector<Mistake> list;
        for (const MistakeText& text : mistake_texts()) {
            if (text.has("backward")) list.push_back(gradient_mistake(text));
        }
        return list;
    }();
    return all;
}

const Mistake* find_gradient_mistake(const std::string& id) {
    const auto found = std::ranges::find(gradient_mistakes(), id, &Mistake::id);
    return found == gradient_mistakes().end() ? nullptr : &*found;
}

StepTable with_gradient_mistakes(StepTable table, const Plan& plan,
                                 const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
        const auto count = [&] {
            return std::ranges::count_if(table, [&](const Step& step) {
                return step.mistake_ids.find(id) != std::string::npos;
            });
        };
        const Mistake* const mistake = find_gradient_mistake(id);
        if (mistake == nullptr) throw ConfigError("there is no mistake of gradients called " + id);
        table = mistake->apply(std::move(table), plan);
        if (count() == 0) {
            throw ConfigError("the mistake " + id +
                              " has no effect here: this walk has no such gradient; change the "
                              "settings, or choose another with attn-explain bugs");
        }
    }
    return table;
}

}  // namespace attn
