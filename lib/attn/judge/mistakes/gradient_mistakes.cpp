#include "attn/judge/mistakes/gradient_mistakes.hpp"

#include <algorithm>
#include <map>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/graph.hpp"
#include "attn/ground/tensor/error.hpp"
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
    std::string cell(const std::string& name) const { return name + at(name); }
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

std::string softmax_input(const Way& way) { return way.latest(Chain::scores); }

Rules of_softmax(const Way& way, const std::string& value) {
    const std::string step = "d_" + softmax_input(way);
    if (!way.has("row_dot") || !way.has(step)) return {};
    return {{step, step + way.at(step) + " = " + value}};
}

Rules elementwise(const Way& way) {
    const std::string weight = way.cell("weights");
    return of_softmax(way, weight + " * (1 - " + weight + ") * d_" + weight);
}
Rules no_row_sum(const Way& way) {
    return of_softmax(way, way.cell("weights") + " * d_" + way.cell("weights"));
}
Rules row_max_counted(const Way& way) {
    if (!way.has("row_dot")) return {};
    const std::string dot = way.cell("row_dot");
    return of_softmax(way, way.cell("weights") + " * (d_" + way.cell("weights") + " - " + dot +
                               ") - (if " + way.cell(softmax_input(way)) +
                               " == " + way.cell("row_max") + " then " + dot + " else 0)");
}

Rules mask_ignored(const Way& way) {
    if (!way.has("mask") || !way.has("d_masked_scores") || !way.has("row_dot")) return {};
    const std::string open = way.latest(Chain::scores, "masked_scores");
    const std::string j = way.at("weights", "k", "j");
    if (way.outline("row_dot").axes.back() == "key" || !way.has("d_" + open)) return {};
    const std::string sum = "(sum j: exp(" + open + j + "))";
    Rules rules = of_softmax(way, "exp(" + way.cell(open) + ") / " + sum + " * (d_" +
                                      way.cell("weights") + " - (sum j: exp(" + open + j +
                                      ") * d_weights" + j + ") / " + sum + ")");
    rules["d_" + open] = "d_" + way.cell(open) + " = d_masked_scores" + way.at(open);
    return rules;
}
Rules infinity_times_zero(const Way& way) {
    const std::string open = way.has("mask") ? way.latest(Chain::scores, "masked_scores") : "";
    if (open.empty() || !way.has("d_" + open)) return {};
    return {{"d_" + open, "d_" + way.cell(open) + " = d_" + way.cell("masked_scores") + " + 0 * " +
                              way.cell("masked_scores")}};
}

Rules scaled(const Way& way, bool twice) {
    if (!way.has("d_scaled_scores")) return {};
    const std::string to = "d_" + way.latest(Chain::scores, "scaled_scores");
    const std::string sign =
        way.plan.scale.operation == ScaleFactor::Operation::divide ? " / " : " * ";
    const std::string factor = sign + expression_text(*number_node(way.plan.scale.number));
    return {{to, to + way.at(to) + " = d_" + way.cell("scaled_scores") +
                     (twice ? factor + factor : "")}};
}
Rules scale_missing(const Way& way) { return scaled(way, false); }
Rules scale_twice(const Way& way) { return scaled(way, true); }

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

/// The rules by mistake id, as in data/mistakes/gradients.txt.
constexpr std::pair<std::string_view, WrongRules> rules_by_id[]{
    {"grad-softmax-elementwise", elementwise},
    {"grad-softmax-no-row-sum", no_row_sum},
    {"grad-row-max-counted", row_max_counted},
    {"grad-mask-ignored", mask_ignored},
    {"grad-inf-times-zero", infinity_times_zero},
    {"grad-scale-missing", scale_missing},
    {"grad-scale-twice", scale_twice},
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
    if (known == std::end(rules_by_id)) text.refuse("no rules of gradients have that id");
    Mistake mistake = described(text);
    mistake.not_applicable = [](const Plan&) { return std::string(); };
    mistake.apply = [id = mistake.id, title = mistake.title.raw(), effect = mistake.effect.raw(),
                     rules = known->second](StepTable table, const Plan& plan) {
        for (const auto& [name, rule] : rules({table, plan})) {
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
