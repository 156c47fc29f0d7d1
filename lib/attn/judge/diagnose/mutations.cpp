#include "attn/judge/diagnose/search.hpp"

#include <algorithm>
#include <utility>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

bool reads_tensor(const RuleNode& node, const std::string& name) {
    return (node.kind == Kind::cell && node.word == name) ||
           std::ranges::any_of(node.parts,
                               [&](const RuleTree& part) { return reads_tensor(*part, name); });
}

/// Returns the rule of a step, with missing tensors replaced by their own rules.
std::optional<Rule> readable(const PlannedStep& of, const Ledger& read) {
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return std::nullopt;
    const Rule whole = inlined(*rule, [&](const std::string& name) -> std::optional<Rule> {
        if (read.has(name) || name == rule->step) return std::nullopt;
        return rule_of({of.plan, of.table, find_step(of.table, name)});
    });
    const std::vector<std::string> names = tensors_read(whole);
    if (!std::ranges::all_of(names, [&](const auto& name) {
            return read.has(name) || name == rule->step;  // rows before
        })) {
        return {};
    }
    return whole;
}

/// Returns the rule for this step and the previous one in reverse order, if both are elementwise on
/// scores.
std::optional<Rule> in_other_order(const PlannedStep& of) {
    if (of.step.chain != Chain::scores || of.step.name == "scores") return std::nullopt;
    const Step& before = find_step(of.table, of.latest(Chain::scores));
    const std::optional<Rule> last = rule_of({of.plan, of.table, before});
    std::optional<Rule> first = rule_of(of);
    if (before.name == "scores" || !last || !first) return std::nullopt;
    const std::string start = PlannedStep{of.plan, of.table, before}.latest(Chain::scores);
    first->value = read_from(first->value, before.name, start);
    Rule swapped = inlined(*last, [&, is_inner = false](const std::string& name) mutable {
        const bool is_read = name == start && !std::exchange(is_inner, true);
        return is_read ? first : std::nullopt;
    });
    swapped.step = of.step.name;
    return swapped;
}

/// Returns a recurrence in which the first row of a sequence reads the last row of the previous
/// one.
std::optional<Rule> transferred(const Rule& rule, const Outline& result) {
    const std::optional<RuleOrder> order = order_of(rule);
    const bool may =
        order && !order->backwards && result.axes.front() == "batch" && order->axis > 0;
    if (!may) return std::nullopt;
    const RuleTree batch = name_node(rule.indices[0]), place = name_node(rule.indices[order->axis]);
    const RuleTree last = number_node(static_cast<double>(result.shape[order->axis] - 1));
    const auto compares_places = [&](const RuleNode& node) {
        return node.kind == Kind::choose && holds_index(*node.parts[0], place->word);
    };
    const RuleTree carried = changed(rule.value, [&](const RuleNode& node) -> RuleTree {
        if (node.kind != Kind::cell || node.word != rule.step) return nullptr;
        RuleNode own = node;
        own.parts[0] = operate_node("-", {batch, number_node(1)});
        own.parts[order->axis] = last;
        return tree_of(std::move(own));
    });
    // The branch of each condition that reads earlier rows.
    const std::function<RuleTree(const RuleTree&)> requested = [&](const RuleTree& tree) {
        return changed(tree, [&](const RuleNode& node) -> RuleTree {
            if (!compares_places(node)) return nullptr;
            const bool reads_in_first = reads_tensor(*node.parts[1], rule.step);
            return requested(node.parts[reads_in_first ? 1 : 2]);
        });
    };
    const RuleTree none = number_node(0);
    const RuleTree begins =
        operate_node("and", {operate_node("==", {place, none}), operate_node(">", {batch, none})});
    Rule other = rule;
    other.value = choose_node(begins, requested(carried), rule.value);
    return other;
}

/// Returns the first mutation whose result `gives_theirs` accepts; nullopt if there is none.
std::optional<Mutation> find_mutation(const PlannedStep& of, const Ledger& read,
                                      const GivesTheirs& gives_theirs) {
    const Outline result = of.step.outline(of.plan);
    constexpr std::size_t most_cells = 100'000;
    const std::optional<Rule> right = readable(of, read);
    if (!right || element_count(result.shape) > most_cells) return std::nullopt;
    std::vector<Mutation> all = mutations_of(*right, read, result);
    if (const std::optional<Rule> swapped = in_other_order(of)) {
        all.insert(all.begin(), {"two steps in the other order", *swapped});
    }
    if (const std::optional<Rule> carried = transferred(*right, result)) {
        all.insert(all.begin(), {"not restarted for each sequence", *carried});
    }
    const RuleScope scope{
        [&](const std::string& name) -> const Tensor& { return read[name]; }, {}, result};
    std::optional<Mutation> found;
    for (Mutation& each : all) {
        try {
            const Tensor other =
                evaluate_rule(each.rule, result.axes, result.shape, of.plan.compute_dtype, scope);
            if (!gives_theirs(of.step.name, other)) continue;
        } catch (const Error&) {
            continue;  // it is out of range, or reads a missing tensor
        }
        if (found && found->kind != each.kind) {
            if (rule_text(each.rule) == found->written_rule) continue;
            found->also = rule_text(each.rule);
            return found;
        }
        if (found) continue;
        if (each.written_rule.empty()) each.written_rule = rule_text(each.rule);
        found = std::move(each);
    }
    return found;
}

/// Returns the tensors of a ledger for whose names `is_such` is true.
Ledger part_of(const Ledger& ledger, const auto& is_such) {
    Ledger part;
    for (const auto& [name, tensor] : ledger.entries()) {
        if (is_such(name)) part.record(name, tensor);
    }
    return part;
}

}  // namespace

std::optional<Mutation> changed_rule(const PlannedStep& of, Ledger read,
                                     const GivesTheirs& gives_theirs,
                                     const std::function<bool(const std::string&)>& may_differ) {
    const StepTable& table = of.table;
    const std::size_t last = place_of(table, of.step.name);
    for (std::size_t i = last + 1; i-- > 0;) {
        const Step& step = table[i];
        if (i < last && !(read.has(step.name) && may_differ(step.name))) continue;
        if (i < last) {
            read = part_of(read, [&](const auto& name) { return place_of(table, name) < i; });
        }
        const PlannedStep result{of.plan, table, step};
        std::optional<Mutation> found = find_mutation(result, read, gives_theirs);
        if (!found && step.name == "weights") {  // softmax as one rule
            const auto is_whole = [&](const std::string& name) {
                return find_step(table, name).kind != Step::Kind::detail;
            };
            found = find_mutation(result, part_of(read, is_whole), gives_theirs);
        }
        if (found) return found;
    }
    return std::nullopt;
}

}  // namespace attn
